//! Views that make the common questions one line.

use datafusion::error::Result;
use datafusion::prelude::SessionContext;

/// Name, query and what a row is, of every view.
pub const VIEWS: [(&str, &str, &str); 5] = [
    ("tree", include_str!("views/tree.sql"), "a path of scopes: how often, how long"),
    ("steps", include_str!("views/steps.sql"), "a pass of an outermost loop"),
    ("slowest", include_str!("views/slowest.sql"), "a scope, the longest first"),
    (
        "kernels_by_scope",
        include_str!("views/kernels_by_scope.sql"),
        "a kernel of a path of scopes",
    ),
    ("gpu_idle", include_str!("views/gpu_idle.sql"), "a gap between two kernels of a device"),
];

/// Adds the views; the tables are there.
pub async fn register(context: &SessionContext) -> Result<()> {
    for (name, query, _) in VIEWS {
        let view = context.sql(query).await?.into_view();
        context.register_table(name, view)?;
    }
    Ok(())
}

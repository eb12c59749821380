//! A run as one file that opens anywhere: the page, and its answers inside it.

mod answers;
mod base64;
mod inline;
mod packed;

use crate::page::Files;
use crate::store::Store;
use std::path::Path;

/// What a shared file may take.
pub const MOST_BYTES: usize = 2_000_000;

/// The run in `folder` as one HTML file of less than [`MOST_BYTES`], which asks nobody for anything.
/// It has the overview, the flame graphs, the tables, the marks, and the timeline as finely as fits.
/// The error says what is wrong in words.
pub fn share(folder: &Path) -> Result<String, String> {
    let whole =
        folder.canonicalize().map_err(|e| format!("cannot read {}: {e}", folder.display()))?;
    let name = whole.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let store = Store::new(whole.parent().unwrap_or(Path::new("/")));
    let loaded = store.get(&name).map_err(|error| error.words().to_owned())?;
    let page = inline::page(&Files::from_environment(), &loaded.run.info.app)?;
    let room = MOST_BYTES.saturating_sub(page.len());
    let answers = answers::within(&loaded, room)?;
    Ok(page.with(&answers))
}

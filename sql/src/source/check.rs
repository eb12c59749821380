//! Whether the tables can be read at all: made by a hodo that is not newer.

use super::Source;
use crate::SqlError;
use datafusion::datasource::listing::ListingTableUrl;
use datafusion::datasource::physical_plan::parquet::metadata::DFParquetMetadata;
use datafusion::prelude::SessionContext;
use futures::{StreamExt, TryStreamExt, stream};
use hodo_trace::packed::{SCHEMA, SCHEMA_KEY, Table};
use url::Url;

/// Runs that are looked at side by side.
const AT_ONCE: usize = 16;

/// Refuses runs whose tables a newer hodo made.
pub async fn check(context: &SessionContext, sources: &[Source]) -> Result<(), SqlError> {
    let each: Vec<_> = sources.iter().map(|source| one(context, source)).collect();
    stream::iter(each).buffer_unordered(AT_ONCE).try_collect::<()>().await
}

async fn one(context: &SessionContext, source: &Source) -> Result<(), SqlError> {
    let Some(place) = source.places(Table::Processes.name())?.into_iter().next() else {
        return Ok(());
    };
    let version = version(context, place).await.map_err(|why| {
        SqlError::Source(format!("cannot read the tables at {}: {}", source.tables, advice(&why)))
    })?;
    match version {
        Some(version) if version > SCHEMA => Err(SqlError::Source(format!(
            "the tables at {} have version {version}, this hodo knows {SCHEMA}; a newer hodo reads them",
            source.tables
        ))),
        _ => Ok(()),
    }
}

/// What the store said, or what to do about it.
fn advice(why: &dyn std::fmt::Display) -> String {
    let said = why.to_string();
    match said.contains("Range request not supported") {
        true => {
            "the web server gives no parts of files (Range); nginx, Apache and object stores do"
                .to_owned()
        }
        false => said,
    }
}

/// The version that the first file says; none when there is no file or it says nothing.
async fn version(
    context: &SessionContext,
    place: Url,
) -> Result<Option<u32>, Box<dyn std::error::Error + Send + Sync>> {
    let place = ListingTableUrl::try_new(place, None)?;
    let store = context.runtime_env().object_store(place.object_store())?;
    let state = context.state();
    let mut files = place.list_all_files(&state, &*store, ".parquet").await?;
    let Some(file) = files.try_next().await? else { return Ok(None) };
    let metadata = DFParquetMetadata::new(&*store, &file).fetch_metadata().await?;
    let pairs = metadata.file_metadata().key_value_metadata();
    let told = pairs.into_iter().flatten().find(|pair| pair.key == SCHEMA_KEY);
    Ok(told.and_then(|pair| pair.value.as_deref()?.parse().ok()))
}

//! What is known of the tables before they are asked: made by a hodo that is not newer, of a run
//! that is not there twice, and all of them there.

use super::Source;
use crate::{Note, SqlError};
use datafusion::datasource::listing::ListingTableUrl;
use datafusion::datasource::physical_plan::parquet::metadata::DFParquetMetadata;
use datafusion::parquet::file::metadata::ParquetMetaData;
use datafusion::prelude::SessionContext;
use futures::{StreamExt, TryStreamExt, stream};
use hodo_trace::packed::{SCHEMA, SCHEMA_KEY, Table};
use object_store::ObjectMeta;
use std::collections::HashMap;
use std::sync::Arc;

/// Runs that are looked at side by side.
const AT_ONCE: usize = 16;
/// A column that has the run's id in every row.
const RUN_COLUMN: &str = "run";

type Wrong = Box<dyn std::error::Error + Send + Sync>;

/// Refuses runs whose tables a newer hodo made, keeps one of those that are there twice, and notes
/// which tables lack files.
pub async fn check(
    context: &SessionContext,
    sources: Vec<Source>,
    note: Note,
) -> Result<Vec<Source>, SqlError> {
    let each: Vec<_> = sources.into_iter().map(|source| one(context, source)).collect();
    let checked: Vec<_> = stream::iter(each).buffered(AT_ONCE).try_collect().await?;
    let (mut seen, mut kept) = (HashMap::new(), Vec::new());
    for (run, source) in checked {
        match run.and_then(|run| Some((seen.insert(run.clone(), source.tables.clone())?, run))) {
            Some((first, run)) => {
                note(&format!("{run} is there twice: {first} is asked, {} is not", source.tables));
                seen.insert(run, first);
            }
            None => kept.push(source),
        }
    }
    Ok(kept)
}

/// The run that a source is of, and the source with what is wrong with its tables.
async fn one(
    context: &SessionContext,
    mut source: Source,
) -> Result<(Option<String>, Source), SqlError> {
    let mut run = None;
    for table in Table::ALL {
        let files =
            files(context, &source, table).await.map_err(|why| unreadable(&source, &why))?;
        if let Some(why) = missing(&files) {
            source.spoilt.entry(table.name()).or_insert(why);
        }
        let Some(file) = files.first().filter(|_| !source.spoilt.contains_key(table.name())) else {
            continue;
        };
        let metadata = metadata(context, file).await;
        match metadata.map_err(|why| unreadable(&source, &why)) {
            Ok(metadata) => {
                refuse_newer(&source, &metadata)?;
                run = run.or_else(|| run_of(&metadata));
            }
            // The table that every run needs; the others may be damaged and not asked.
            Err(error) if table == Table::Processes => return Err(error),
            Err(error) => _ = source.spoilt.insert(table.name(), error.to_string()),
        }
    }
    Ok((run, source))
}

/// What is wrong with the files of a table, as far as a list of them tells.
fn missing(files: &[File]) -> Option<String> {
    let empty = files.iter().find(|(file, _)| file.size == 0);
    match (files.is_empty(), empty) {
        (true, _) => Some("it has no file".to_owned()),
        (false, Some((file, _))) => Some(format!("{} is empty", file.location)),
        (false, None) => None,
    }
}

fn refuse_newer(source: &Source, metadata: &ParquetMetaData) -> Result<(), SqlError> {
    match version(metadata) {
        Some(version) if version > SCHEMA => Err(SqlError::Source(format!(
            "the tables at {} have version {version}, this hodo knows {SCHEMA}; a newer hodo reads them",
            source.tables
        ))),
        _ => Ok(()),
    }
}

fn unreadable(source: &Source, why: &Wrong) -> SqlError {
    SqlError::Source(format!("cannot read the tables at {}: {}", source.tables, advice(why)))
}

/// What the store said, or what to do about it.
fn advice(why: &Wrong) -> String {
    let said = why.to_string();
    match said.contains("Range request not supported") {
        true => {
            "the web server gives no parts of files (Range); nginx, Apache and object stores do"
                .to_owned()
        }
        false => said,
    }
}

/// A file of a table, and where it was looked for.
type File = (ObjectMeta, ListingTableUrl);

async fn files(
    context: &SessionContext,
    source: &Source,
    table: Table,
) -> Result<Vec<File>, Wrong> {
    let mut found = Vec::new();
    for place in source.places(table.name())? {
        let place = ListingTableUrl::try_new(place, None)?;
        let store = context.runtime_env().object_store(place.object_store())?;
        let state = context.state();
        let mut files = place.list_all_files(&state, &*store, ".parquet").await?;
        while let Some(file) = files.try_next().await? {
            found.push((file, place.clone()));
        }
    }
    Ok(found)
}

/// What a file says of itself. A reader may give up on bytes that make no sense: in a task of its
/// own, that is an error like others.
async fn metadata(
    context: &SessionContext,
    (file, place): &File,
) -> Result<Arc<ParquetMetaData>, Wrong> {
    let store = context.runtime_env().object_store(place.object_store())?;
    let file = file.clone();
    let read = async move { DFParquetMetadata::new(&*store, &file).fetch_metadata().await };
    Ok(tokio::spawn(read).await.map_err(SqlError::engine)??)
}

fn version(metadata: &ParquetMetaData) -> Option<u32> {
    let pairs = metadata.file_metadata().key_value_metadata();
    let told = pairs.into_iter().flatten().find(|pair| pair.key == SCHEMA_KEY)?;
    told.value.as_deref()?.parse().ok()
}

/// The id of the run, which the statistics of a column have.
fn run_of(metadata: &ParquetMetaData) -> Option<String> {
    let mut columns = metadata.row_groups().first()?.columns().iter();
    let column = columns.find(|column| column.column_path().string() == RUN_COLUMN)?;
    let least = column.statistics()?.min_bytes_opt()?;
    String::from_utf8(least.to_vec()).ok()
}

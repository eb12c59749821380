//! Where the tables of runs lie: folders, and addresses in object stores.

mod check;
mod cloud;
mod local;
mod page;
mod remote;
pub mod store;

pub use check::check;
pub use local::Here;

use crate::SqlError;
use datafusion::execution::object_store::ObjectStoreRegistry;
use std::collections::BTreeMap;
use url::Url;

/// The tables of one run.
#[derive(Debug)]
pub struct Source {
    /// The folder that has a folder for every table; ends with a slash.
    pub tables: Url,
    /// The files of every table, where the place cannot be asked for them again.
    pub files: Option<BTreeMap<String, Vec<Url>>>,
    /// Tables that lack files, and why.
    pub spoilt: BTreeMap<&'static str, String>,
}

impl Source {
    fn at(tables: Url) -> Source {
        Source { tables, files: None, spoilt: BTreeMap::new() }
    }

    /// What to read for a table.
    pub fn places(&self, table: &str) -> Result<Vec<Url>, SqlError> {
        if let Some(files) = &self.files {
            return Ok(files.get(table).cloned().unwrap_or_default());
        }
        let folder = self.tables.join(&format!("{table}/"));
        folder.map(|folder| vec![folder]).map_err(|e| SqlError::Source(e.to_string()))
    }
}

/// Finds the runs that `names` mean: folders, beginnings of ids, addresses. The newest run when
/// there are none.
pub async fn find(
    names: &[String],
    at: &Here<'_>,
    stores: &dyn ObjectStoreRegistry,
) -> Result<Vec<Source>, SqlError> {
    let mut sources = Vec::new();
    if names.is_empty() {
        sources.extend(at.find(None)?);
    }
    for name in names {
        match address(name) {
            Some(url) if url.scheme() == "file" => sources.extend(at.find_url(&url)?),
            Some(url) => sources.extend(remote::find(url, stores).await?),
            None => sources.extend(at.find(Some(name))?),
        }
    }
    if sources.iter().any(|source| source.tables.scheme() == "file") {
        stores.register_store(&store::local_url(), store::local());
    }
    Ok(sources)
}

/// All runs of the folder they are in.
pub fn all(at: &Here<'_>, stores: &dyn ObjectStoreRegistry) -> Result<Vec<Source>, SqlError> {
    stores.register_store(&store::local_url(), store::local());
    at.all(at.dir)
}

fn address(name: &str) -> Option<Url> {
    name.contains("://").then(|| Url::parse(name).ok()).flatten()
}

//! Packed runs in object stores.

use super::{Source, page, store};
use crate::SqlError;
use datafusion::execution::object_store::ObjectStoreRegistry;
use futures::future::try_join_all;
use hodo_trace::packed::{self, Table};
use object_store::ObjectStore;
use object_store::path::Path;
use std::collections::BTreeMap;
use std::sync::Arc;
use url::Url;

/// The run at an address, or every run of a folder there.
pub async fn find(mut url: Url, stores: &dyn ObjectStoreRegistry) -> Result<Vec<Source>, SqlError> {
    if !url.path().ends_with('/') {
        url.set_path(&format!("{}/", url.path()));
    }
    let store = store::of(&url)?;
    stores.register_store(&origin_url(&url)?, store.clone());
    let place = Place { store, is_page: url.scheme().starts_with("http") };
    let children = place.children(&url).await?;
    let sources = if has_tables(&url, &children) {
        vec![place.run(&url).await?]
    } else {
        place.runs(children).await?
    };
    if sources.is_empty() {
        return Err(SqlError::Source(format!(
            "no packed run at {url}; `hodo pack` or `hodo export --to parquet` makes one to put there"
        )));
    }
    Ok(sources)
}

fn origin_url(url: &Url) -> Result<Url, SqlError> {
    Url::parse(store::origin(url)).map_err(|e| SqlError::Source(format!("{url}: {e}")))
}

/// A store and how it lists.
struct Place {
    store: Arc<dyn ObjectStore>,
    /// A web server, which may list by WebDAV, or only by a page of links.
    is_page: bool,
}

impl Place {
    /// What lies in a folder; folders end with a slash.
    async fn children(&self, folder: &Url) -> Result<Vec<Url>, SqlError> {
        let path = path_of(folder)?;
        let listed = match self.store.list_with_delimiter(Some(&path)).await {
            Ok(listed) => listed,
            Err(_) if self.is_page => return page::links(&*self.store, &path, folder).await,
            Err(e) => return Err(SqlError::Source(format!("cannot list {folder}: {e}"))),
        };
        let name = |path: &Path| path.filename().map(str::to_owned);
        let files = listed.objects.iter().filter_map(|object| name(&object.location));
        let folders = listed.common_prefixes.iter().filter_map(|p| Some(name(p)? + "/"));
        Ok(files.chain(folders).filter_map(|name| child(folder, &name)).collect())
    }

    async fn run(&self, folder: &Url) -> Result<Source, SqlError> {
        let tables = folder.join(&format!("{}/", packed::TABLES));
        let tables = tables.map_err(|e| SqlError::Source(format!("{folder}: {e}")))?;
        let mut source = Source::at(tables);
        if self.is_page {
            source.files = Some(self.files(&source.tables).await?);
        }
        Ok(source)
    }

    async fn runs(&self, children: Vec<Url>) -> Result<Vec<Source>, SqlError> {
        let mut sources = Vec::new();
        for folder in children.into_iter().filter(|child| child.path().ends_with('/')) {
            if has_tables(&folder, &self.children(&folder).await?) {
                sources.push(self.run(&folder).await?);
            }
        }
        Ok(sources)
    }

    async fn files(&self, tables: &Url) -> Result<BTreeMap<String, Vec<Url>>, SqlError> {
        let of = |table: Table| async move {
            let folder = child(tables, &format!("{}/", table.name()));
            let folder = folder.ok_or_else(|| SqlError::Source(format!("{tables}: no address")))?;
            let mut files = self.children(&folder).await.unwrap_or_default();
            files.retain(|file| file.path().ends_with(".parquet"));
            Ok::<_, SqlError>((table.name().to_owned(), files))
        };
        Ok(try_join_all(Table::ALL.map(of)).await?.into_iter().collect())
    }
}

fn has_tables(folder: &Url, children: &[Url]) -> bool {
    child(folder, &format!("{}/", packed::TABLES)).is_some_and(|tables| children.contains(&tables))
}

/// The address of something in a folder, whatever characters its name has.
fn child(folder: &Url, name: &str) -> Option<Url> {
    let mut url = folder.clone();
    let (name, is_folder) = match name.strip_suffix('/') {
        Some(name) => (name, true),
        None => (name, false),
    };
    let mut segments = url.path_segments_mut().ok()?;
    segments.pop_if_empty().push(name);
    if is_folder {
        segments.push("");
    }
    drop(segments);
    Some(url)
}

fn path_of(url: &Url) -> Result<Path, SqlError> {
    Path::from_url_path(url.path()).map_err(|e| SqlError::Source(format!("{url}: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_odd_characters_stay_names() {
        let folder = Url::parse("s3://bucket/a/").unwrap();
        let odd = child(&folder, "50% #1?/").unwrap();
        assert_eq!(odd.as_str(), "s3://bucket/a/50%25%20%231%3F/");
        assert_eq!(path_of(&odd).unwrap().as_ref(), "a/50% #1?");
    }
}

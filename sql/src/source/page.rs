//! Listing by the page of links that plain web servers give of a folder.

use crate::SqlError;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use url::Url;

/// A page larger than this is no list of files.
const LARGEST_PAGE: u64 = 4 << 20;

/// What lies in a folder, by the links of its page.
pub async fn links(
    store: &dyn ObjectStore,
    path: &Path,
    folder: &Url,
) -> Result<Vec<Url>, SqlError> {
    let failed =
        |error: object_store::Error| SqlError::Source(format!("cannot list {folder}: {error}"));
    let page = store.get(path).await.map_err(failed)?;
    if page.meta.size > LARGEST_PAGE {
        return Err(SqlError::Source(format!("cannot list {folder}: this is no page of links")));
    }
    let bytes = page.bytes().await.map_err(failed)?;
    Ok(children(&String::from_utf8_lossy(&bytes), folder))
}

/// The links of a page that lead to something in its folder.
fn children(page: &str, folder: &Url) -> Vec<Url> {
    let links = page.split("href=").skip(1).filter_map(|rest| {
        let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        rest[1..].split(quote).next()
    });
    let mut found: Vec<Url> = links
        .filter_map(|link| folder.join(&link.replace("&amp;", "&")).ok())
        .filter(|url| is_child(folder, url))
        .collect();
    found.sort();
    found.dedup();
    found
}

fn is_child(folder: &Url, url: &Url) -> bool {
    let below = url.as_str().strip_prefix(folder.as_str()).unwrap_or("");
    let name = below.strip_suffix('/').unwrap_or(below);
    !name.is_empty() && !name.contains(['/', '?', '#'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lies_in_the_folder_counts() {
        let folder = Url::parse("http://box/runs/a/").unwrap();
        let page = r#"<a href="../">up</a> <a href='tables/'>x</a> <a href="run.json">
            <a href="http://elsewhere/b.parquet"> <a href="?C=N"> <a href="/runs/a/p%201.parquet">
            <a href="deep/er.parquet">"#;
        let found: Vec<String> = children(page, &folder).iter().map(Url::to_string).collect();
        assert_eq!(
            found,
            [
                "http://box/runs/a/p%201.parquet",
                "http://box/runs/a/run.json",
                "http://box/runs/a/tables/"
            ]
        );
    }
}

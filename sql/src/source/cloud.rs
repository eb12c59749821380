//! Stores elsewhere, as the query engine asks for them.
//!
//! The engine speaks to stores by an older release of `object_store`, whose parser of XML has known faults. What goes over the
//! network is left to the newer one, and this puts questions and answers of one into words of the other. It only reads.

use async_trait::async_trait;
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{
    Attributes, CopyOptions, Error, GetOptions, GetRange, GetResult, GetResultPayload, ListResult,
    MultipartUpload, ObjectMeta, ObjectStore, PutMultipartOptions, PutOptions, PutPayload,
    PutResult, Result,
};
use std::fmt::{self, Display, Formatter};

/// A store elsewhere.
#[derive(Debug)]
pub struct Cloud<S>(pub S);

impl<S: Display> Display for Cloud<S> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[async_trait]
impl<S: stores::ObjectStore> ObjectStore for Cloud<S> {
    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let got = self.0.get_opts(&asked(location)?, question(options)).await.map_err(error)?;
        Ok(GetResult {
            meta: meta(got.meta.clone())?,
            range: got.range.clone(),
            attributes: Attributes::new(),
            payload: GetResultPayload::Stream(got.into_stream().map_err(error).boxed()),
        })
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        match prefix.map(asked).transpose() {
            Ok(prefix) => {
                let listed = self.0.list(prefix.as_ref());
                listed.map(|one| one.map_err(error).and_then(meta)).boxed()
            }
            Err(error) => stream::once(async { Err(error) }).boxed(),
        }
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        let prefix = prefix.map(asked).transpose()?;
        let listed = self.0.list_with_delimiter(prefix.as_ref()).await.map_err(error)?;
        Ok(ListResult {
            common_prefixes: listed.common_prefixes.iter().map(told).collect::<Result<_>>()?,
            objects: listed.objects.into_iter().map(meta).collect::<Result<_>>()?,
        })
    }

    async fn put_opts(&self, _: &Path, _: PutPayload, _: PutOptions) -> Result<PutResult> {
        Err(only_read())
    }

    async fn put_multipart_opts(
        &self,
        _: &Path,
        _: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        Err(only_read())
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        locations.map(|_| Err(only_read())).boxed()
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> Result<()> {
        Err(only_read())
    }
}

fn only_read() -> Error {
    Error::NotSupported { source: "stores are only read".into() }
}

fn asked(path: &Path) -> Result<stores::path::Path> {
    stores::path::Path::parse(path.as_ref()).map_err(|e| error(e.into()))
}

fn told(path: &stores::path::Path) -> Result<Path> {
    Ok(Path::parse(path.as_ref())?)
}

fn question(options: GetOptions) -> stores::GetOptions {
    stores::GetOptions {
        if_match: options.if_match,
        if_none_match: options.if_none_match,
        if_modified_since: options.if_modified_since,
        if_unmodified_since: options.if_unmodified_since,
        range: options.range.map(|range| match range {
            GetRange::Bounded(range) => stores::GetRange::Bounded(range),
            GetRange::Offset(from) => stores::GetRange::Offset(from),
            GetRange::Suffix(bytes) => stores::GetRange::Suffix(bytes),
        }),
        version: options.version,
        head: options.head,
        ..stores::GetOptions::default()
    }
}

fn meta(of: stores::ObjectMeta) -> Result<ObjectMeta> {
    Ok(ObjectMeta {
        location: told(&of.location)?,
        last_modified: of.last_modified,
        size: of.size,
        e_tag: of.e_tag,
        version: of.version,
    })
}

/// The same error; those that nobody tells apart are one.
fn error(error: stores::Error) -> Error {
    use stores::Error as Newer;
    match error {
        Newer::Generic { store, source } => Error::Generic { store, source },
        Newer::NotFound { path, source } => Error::NotFound { path, source },
        Newer::Precondition { path, source } => Error::Precondition { path, source },
        Newer::NotModified { path, source } => Error::NotModified { path, source },
        Newer::PermissionDenied { path, source } => Error::PermissionDenied { path, source },
        Newer::Unauthenticated { path, source } => Error::Unauthenticated { path, source },
        other => Error::Generic { store: "store", source: Box::new(other) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use object_store::ObjectStoreExt;
    use stores::ObjectStoreExt as _;
    use stores::memory::InMemory;

    async fn store() -> Cloud<InMemory> {
        let store = InMemory::new();
        for name in ["a/one%25 two#.parquet", "a/b/three.parquet"] {
            let path = stores::path::Path::parse(name).unwrap();
            store.put(&path, name.as_bytes().to_vec().into()).await.unwrap();
        }
        Cloud(store)
    }

    #[tokio::test]
    async fn what_is_there_is_listed_and_read_by_its_own_name() {
        let store = store().await;
        let (folder, odd) = (Path::from("a"), Path::parse("a/one%25 two#.parquet").unwrap());
        let listed = store.list_with_delimiter(Some(&folder)).await.unwrap();
        assert_eq!(listed.common_prefixes, [Path::from("a/b")]);
        assert_eq!(listed.objects.iter().map(|one| &one.location).collect::<Vec<_>>(), [&odd]);
        let all: Vec<_> = store.list(Some(&folder)).try_collect().await.unwrap();
        assert_eq!(all.len(), 2);
        let whole = store.get(&odd).await.unwrap();
        assert_eq!(whole.meta, listed.objects[0]);
        assert_eq!(whole.bytes().await.unwrap(), odd.as_ref().as_bytes());
        assert_eq!(store.get_range(&odd, 2..5).await.unwrap(), "one");
        assert_eq!(store.get_ranges(&odd, &[0..1, 2..5]).await.unwrap(), ["a", "one"]);
        assert_eq!(store.head(&odd).await.unwrap().size, odd.as_ref().len() as u64);
    }

    #[tokio::test]
    async fn what_is_not_there_is_told_apart_from_what_failed() {
        let store = store().await;
        let none = store.get(&Path::from("a/none")).await;
        assert!(matches!(none, Err(Error::NotFound { .. })), "{none:?}");
        let past = store.get_range(&Path::from("a/b/three.parquet"), 100..110).await;
        assert!(matches!(past, Err(Error::Generic { .. })), "{past:?}");
    }

    #[tokio::test]
    async fn nothing_is_written_or_removed() {
        let store = store().await;
        let path = Path::from("a/b/three.parquet");
        assert!(store.put(&path, "other".into()).await.is_err());
        assert!(store.put_multipart(&path).await.is_err());
        assert!(store.copy(&path, &Path::from("c")).await.is_err());
        assert!(store.rename(&path, &Path::from("c")).await.is_err());
        assert!(store.delete(&path).await.is_err());
        assert_eq!(store.get(&path).await.unwrap().bytes().await.unwrap(), "a/b/three.parquet");
    }
}

//! Stores of objects: Amazon S3 and what speaks as it does, Google Cloud Storage, HTTP.

use super::Remote;
use object_store::path::Path as Key;
use object_store::{ObjectStore, ObjectStoreExt, WriteMultipart, parse_url_opts};
use std::future::Future;
use std::io::{self, Read, Write};
use std::path::Path;
use tokio::runtime::Runtime;
use tokio_rustls::rustls::crypto::ring;

/// What is sent at a time of a file in several parts.
const PART_BYTES: usize = 8 << 20;
/// Parts under way at once.
const MOST_PARTS: usize = 4;
/// Settings of stores in the environment begin so.
const VARIABLES: [&str; 2] = ["AWS_", "GOOGLE_"];

/// A store of objects.
pub struct Objects {
    store: Box<dyn ObjectStore>,
    top: Key,
    /// There until this goes.
    runtime: Option<Runtime>,
}

impl Drop for Objects {
    fn drop(&mut self) {
        // The last to hold this may be one that must not wait.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Objects {
    /// The store at an address, with what the environment says of it.
    pub fn open(url: &str) -> io::Result<Objects> {
        // It is there already where another store was opened.
        let _ = ring::default_provider().install_default();
        let bad = |words: String| io::Error::new(io::ErrorKind::InvalidInput, words);
        let parsed = url::Url::parse(url).map_err(|error| bad(format!("`{url}`: {error}")))?;
        let is_told = |(name, _): &(String, String)| VARIABLES.iter().any(|v| name.starts_with(v));
        let told =
            std::env::vars().filter(is_told).map(|(name, value)| (name.to_lowercase(), value));
        let plain = [("allow_http".to_owned(), "true".to_owned())];
        let is_plain = parsed.scheme() == "http";
        let told = told.chain(plain.into_iter().filter(|_| is_plain));
        let (store, top) =
            parse_url_opts(&parsed, told).map_err(|error| bad(format!("`{url}`: {error}")))?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("hodo-store")
            .enable_all()
            .build()?;
        Ok(Objects { store, top, runtime: Some(runtime) })
    }

    fn key(&self, key: &str) -> Key {
        let mut whole = self.top.clone();
        for part in key.split('/') {
            whole = whole.join(part);
        }
        whole
    }

    /// Sends a file part by part, a few at once.
    fn send(&self, upload: &mut WriteMultipart, file: &mut impl Read) -> io::Result<()> {
        let mut buffer = vec![0; PART_BYTES];
        loop {
            let read = file.read(&mut buffer)?;
            if read == 0 {
                return Ok(());
            }
            self.wait(upload.wait_for_capacity(MOST_PARTS))?;
            let _inside = self.runtime()?.enter();
            upload.write(&buffer[..read]);
        }
    }

    fn runtime(&self) -> io::Result<&Runtime> {
        self.runtime.as_ref().ok_or_else(|| io::Error::other("the store is closed"))
    }

    fn wait<T>(&self, work: impl Future<Output = object_store::Result<T>>) -> io::Result<T> {
        self.runtime()?.block_on(work).map_err(|error| match error {
            object_store::Error::NotFound { .. } => io::Error::new(io::ErrorKind::NotFound, error),
            error => io::Error::other(error),
        })
    }
}

impl Remote for Objects {
    fn put(&self, key: &str, from: &Path) -> io::Result<()> {
        let (key, mut file) = (self.key(key), std::fs::File::open(from)?);
        if file.metadata()?.len() <= PART_BYTES as u64 {
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            return self.wait(self.store.put(&key, bytes.into())).map(drop);
        }
        let upload = self.wait(self.store.put_multipart(&key))?;
        let mut upload = WriteMultipart::new_with_chunk_size(upload, PART_BYTES);
        match self.send(&mut upload, &mut file) {
            Ok(()) => self.wait(upload.finish()).map(drop),
            Err(error) => {
                // Parts of what is never finished are no object, but take room until they are given up.
                let _ = self.wait(upload.abort());
                Err(error)
            }
        }
    }

    fn get(&self, key: &str, to: &Path) -> io::Result<bool> {
        use futures_util::StreamExt;
        let got = match self.wait(self.store.get(&self.key(key))) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            got => got?,
        };
        let (mut pieces, mut file) = (got.into_stream(), std::fs::File::create(to)?);
        while let Some(piece) = self.runtime()?.block_on(pieces.next()) {
            file.write_all(&piece.map_err(io::Error::other)?)?;
        }
        Ok(true)
    }

    fn remove(&self, key: &str) -> io::Result<()> {
        match self.wait(self.store.delete(&self.key(key))) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    fn names(&self) -> io::Result<Vec<String>> {
        let listed = self.wait(self.store.list_with_delimiter(Some(&self.top)))?;
        let folders = listed.common_prefixes.iter();
        Ok(folders.filter_map(|key| Some(key.filename()?.to_owned())).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collect::testing::Folder;

    #[test]
    #[ignore = "takes a store of objects: make test-store"]
    fn what_is_put_into_objects_comes_back_in_one_part_or_several() -> io::Result<()> {
        let url = std::env::var("HODO_TEST_STORE").map_err(io::Error::other)?;
        let store = Objects::open(&format!("{url}/parts-{}", std::process::id()))?;
        let folder = Folder::new();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        for bytes in [0, 1, PART_BYTES, PART_BYTES + 1, 3 * PART_BYTES + 5] {
            let content: Vec<u8> = (0..bytes).map(|n| (n * 31 / 7) as u8).collect();
            std::fs::write(&from, &content)?;
            store.put("run/tables/spans/a b.parquet", &from)?;
            assert!(store.get("run/tables/spans/a b.parquet", &to)?, "{bytes}");
            assert!(std::fs::read(&to)? == content, "{bytes}");
        }
        assert_eq!(store.names()?, ["run"]);
        store.remove("run/tables/spans/a b.parquet")?;
        store.remove("run/tables/spans/a b.parquet")?;
        assert!(!store.get("run/tables/spans/a b.parquet", &to)?);
        assert_eq!(store.names()?, [""; 0]);
        Ok(())
    }

    #[test]
    fn stores_are_asked_by_tls() {
        // Nobody listens there: what fails is the connection, not the cryptography.
        let listener = std::net::TcpListener::bind("127.0.0.1:0").and_then(|one| one.local_addr());
        let address = listener.unwrap_or_else(|error| panic!("{error}"));
        let store = Objects::open(&format!("https://{address}/runs"));
        let store = store.unwrap_or_else(|error| panic!("{error}"));
        let head = store.wait(store.store.head(&store.key("run")));
        assert!(head.is_err_and(|error| error.to_string().contains("https://127.0.0.1")));
    }
}

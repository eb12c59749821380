//! The object stores that a session may read, and no other.

use super::cloud::Cloud;
use crate::SqlError;
use object_store::ObjectStore;
use object_store::local::LocalFileSystem;
use rustls::crypto::ring;
use std::sync::Arc;
use std::time::Duration;
use stores::RetryConfig;
use stores::aws::AmazonS3Builder;
use stores::client::ClientOptions;
use stores::gcp::GoogleCloudStorageBuilder;
use stores::http::HttpBuilder;
use url::Url;

/// A store that does not answer must not hold up the prompt for minutes.
const PATIENCE: Duration = Duration::from_secs(20);
const CONNECT: Duration = Duration::from_secs(5);
const RETRIES: usize = 2;

/// The address under which local files are registered.
pub fn local_url() -> Url {
    // A constant that parses.
    Url::parse("file:///").unwrap_or_else(|_| unreachable!())
}

/// Local files.
pub fn local() -> Arc<dyn ObjectStore> {
    Arc::new(LocalFileSystem::new())
}

/// The store of an address; keys and endpoints come from the environment.
pub fn of(url: &Url) -> Result<Arc<dyn ObjectStore>, SqlError> {
    // It is there already where another store was opened.
    let _ = ring::default_provider().install_default();
    let failed =
        |error: stores::Error| SqlError::Source(format!("cannot open {}: {error}", origin(url)));
    match url.scheme() {
        "s3" => {
            let builder = AmazonS3Builder::from_env().with_url(url.as_str()).with_retry(retry());
            Ok(Arc::new(Cloud(builder.build().map_err(failed)?)))
        }
        "gs" => {
            let builder = GoogleCloudStorageBuilder::from_env().with_url(url.as_str());
            Ok(Arc::new(Cloud(builder.with_retry(retry()).build().map_err(failed)?)))
        }
        "http" | "https" => {
            let options = ClientOptions::new()
                .with_allow_http(true)
                .with_connect_timeout(CONNECT)
                .with_timeout(PATIENCE);
            let builder = HttpBuilder::new().with_url(origin(url)).with_client_options(options);
            Ok(Arc::new(Cloud(builder.with_retry(retry()).build().map_err(failed)?)))
        }
        other => Err(SqlError::Source(format!(
            "cannot read {other}:// addresses; s3, gs, file, http and https are known"
        ))),
    }
}

/// Scheme and host of an address.
pub fn origin(url: &Url) -> &str {
    &url[..url::Position::BeforePath]
}

fn retry() -> RetryConfig {
    RetryConfig { max_retries: RETRIES, retry_timeout: PATIENCE, ..RetryConfig::default() }
}

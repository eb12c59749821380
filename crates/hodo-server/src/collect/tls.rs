//! TLS by rustls.

use super::CollectorError;
use std::io;
use std::path::Path;
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// Takes connections with the certificate chain and the key of two PEM files.
pub fn acceptor(cert: &Path, key: &Path) -> Result<TlsAcceptor, CollectorError> {
    let of = |path: &Path, error: String| {
        CollectorError::Io(format!("cannot use {}", path.display()), io::Error::other(error))
    };
    let chain: Result<Vec<_>, _> =
        CertificateDer::pem_file_iter(cert).map_err(|error| of(cert, error.to_string()))?.collect();
    let chain = chain.map_err(|error| of(cert, error.to_string()))?;
    if chain.is_empty() {
        return Err(of(cert, "it holds no certificate in PEM".to_owned()));
    }
    let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| of(key, error.to_string()))?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|config| config.with_no_client_auth().with_single_cert(chain, secret))
        .map_err(|error| of(cert, error.to_string()))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

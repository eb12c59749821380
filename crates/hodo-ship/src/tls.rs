//! Which certificates are believed.

use crate::ShipError;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, TlsProvider, parse_pem};

/// Where systems keep the certificates that they believe.
const SYSTEM: [&str; 5] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// TLS that believes the certificates in `ca` and no others; without it, those of the system.
pub(crate) fn config(ca: Option<&Path>) -> Result<TlsConfig, ShipError> {
    let named = std::env::var_os("SSL_CERT_FILE").map(PathBuf::from);
    let path = match ca {
        Some(path) => path.to_owned(),
        None => named
            .into_iter()
            .chain(SYSTEM.map(PathBuf::from))
            .find(|path| path.is_file())
            .ok_or_else(|| ShipError::Certificates {
                path: SYSTEM[0].into(),
                why: "this system has no certificates to go by; name a file with --ca".into(),
            })?,
    };
    let certificates = read(&path).map_err(|why| ShipError::Certificates { path, why })?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    Ok(TlsConfig::builder()
        .provider(TlsProvider::Rustls)
        .unversioned_rustls_crypto_provider(provider)
        .root_certs(RootCerts::new_with_certs(&certificates))
        .build())
}

fn read(path: &Path) -> Result<Vec<Certificate<'static>>, String> {
    let pem = std::fs::read(path).map_err(|error| error.to_string())?;
    let certificate = |item| match item {
        Ok(PemItem::Certificate(certificate)) => Some(certificate),
        _ => None,
    };
    let found: Vec<_> = parse_pem(&pem).filter_map(certificate).collect();
    match found.is_empty() {
        true => Err("no certificate in PEM form is in it".into()),
        false => Ok(found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_certificates_is_refused_with_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ca.pem");
        std::fs::write(&path, "-----BEGIN NONSENSE-----").unwrap();
        let why = config(Some(&path)).unwrap_err().to_string();
        assert!(why.contains("ca.pem: no certificate"), "{why}");
        let why = config(Some(&folder.path().join("none"))).unwrap_err().to_string();
        assert!(why.contains("none: No such file"), "{why}");
    }
}

//! Connections by TLS.

use super::Collected;
use crate::client::Folder;
use hodo_server::CollectorOptions;
use std::io::{Read, Write};
use std::sync::Arc;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

#[test]
fn what_is_said_goes_through_tls_and_nothing_else_does() {
    let folder = Folder::new();
    let made = rcgen::generate_simple_self_signed(["runs.example".to_owned()]).unwrap();
    let (cert, key) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
    std::fs::write(&cert, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let mut options = CollectorOptions::local(&folder.path().join("store"));
    options.tls = Some((cert.clone(), key.clone()));
    (options.bind, options.hosts) = ("0.0.0.0:0".parse().unwrap(), vec!["runs.example".into()]);
    let collected = Collected::with(&options);
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(&cert).unwrap()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("runs.example").unwrap();
    let connection = ClientConnection::new(Arc::new(config), name).unwrap();
    let mut stream = StreamOwned::new(connection, collected.connect());
    write!(
        stream,
        "GET /api/runs HTTP/1.1\r\nHost: runs.example\r\nOrigin: https://runs.example\r\n\
         Authorization: Bearer {}\r\nConnection: close\r\n\r\n",
        collected.read
    )
    .unwrap();
    let mut answer = String::new();
    // A server may close without saying so in TLS.
    let _ = stream.read_to_string(&mut answer);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    // In the open nothing is answered.
    let mut open = collected.connect();
    write!(open, "GET /healthz HTTP/1.1\r\nHost: runs.example\r\n\r\n").unwrap();
    let mut said = Vec::new();
    let _ = open.read_to_end(&mut said);
    assert!(!said.starts_with(b"HTTP"), "{said:?}");
    // Files that are none are named.
    options.tls = Some((key, cert));
    let refused = hodo_server::Collector::bind(&options).err().unwrap().to_string();
    assert!(refused.contains("key.pem"), "{refused}");
}

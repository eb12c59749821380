//! The files of the page.

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use std::path::PathBuf;

use crate::state::Shared;

/// Name and content of each file, as built into the program.
const FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// Where developers of the page keep it while they change it.
const FOLDER: &str = "HODO_PAGE_DIR";

/// Where the page's files come from.
#[derive(Clone, Debug)]
pub enum Files {
    /// The program itself.
    Built,
    /// A folder, read anew for each request.
    Folder(PathBuf),
}

impl Files {
    /// As the environment says.
    pub fn from_environment() -> Files {
        let folder = std::env::var_os(FOLDER).filter(|folder| !folder.is_empty());
        folder.map_or(Files::Built, |folder| Files::Folder(folder.into()))
    }

    /// A file by its name, which has no folder in it.
    pub fn get(&self, name: &str) -> Option<Bytes> {
        match self {
            Files::Built => {
                let found = FILES.iter().find(|file| file.0 == name)?;
                Some(Bytes::from_static(found.1))
            }
            Files::Folder(folder) => {
                let is_plain =
                    !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', '\0']);
                let path = is_plain.then(|| folder.join(name))?;
                std::fs::read(path).ok().map(Bytes::from)
            }
        }
    }
}

/// `GET /`.
pub async fn index(State(shared): State<Shared>) -> Response {
    serve(&shared, "index.html")
}

/// `GET /{file}`.
pub async fn file(State(shared): State<Shared>, Path(name): Path<String>) -> Response {
    serve(&shared, &name)
}

fn serve(shared: &Shared, name: &str) -> Response {
    let Some(content) = shared.files.get(name) else {
        return (StatusCode::NOT_FOUND, "hodo: the page has no such file\n").into_response();
    };
    // A name with a hash in it never means anything else.
    let is_hashed = matches!(shared.files, Files::Built) && name.split('.').count() > 2;
    let kept = if is_hashed { "private, max-age=31536000, immutable" } else { "no-cache" };
    let headers = [(header::CONTENT_TYPE, kind(name)), (header::CACHE_CONTROL, kept)];
    (headers, Body::from(content)).into_response()
}

fn kind(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, end)| end) {
        Some("html") => "text/html; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("json" | "map" | "webmanifest") => "application/json",
        Some("woff2") => "font/woff2",
        _ => "application/octet-stream",
    }
}

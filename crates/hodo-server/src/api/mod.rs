//! The API that the page reads; `openapi.json` describes it.

mod ask;
mod report;
mod runs;
mod spans;
mod tiles;
mod tracks;

use crate::page;
use crate::state::Shared;
use axum::Router;
use axum::routing::get;

/// Declares the routes once: for the router, and as a list for its tests and its description.
macro_rules! routes {
    ($($path:literal => $handler:expr,)*) => {
        /// The path of every route.
        pub const PATHS: &[&str] = &[$($path),*];

        fn routes() -> Router<Shared> {
            Router::new()$(.route($path, $handler))*
        }
    };
}

routes! {
    "/" => get(page::index),
    "/{file}" => get(page::file),
    "/healthz" => get(healthz),
    "/api/about" => get(runs::about),
    "/api/runs" => get(runs::list),
    "/api/runs/{run}/report" => get(report::report),
    "/api/runs/{run}/tracks" => get(tracks::tracks),
    "/api/runs/{run}/tiles" => get(tiles::tiles),
    "/api/runs/{run}/spans/{span}" => get(spans::span),
    "/api/runs/{run}/kernels/{kernel}" => get(spans::kernel),
}

/// All routes.
pub fn router(shared: Shared) -> Router {
    routes().with_state(shared)
}

async fn healthz() -> &'static str {
    "ok\n"
}

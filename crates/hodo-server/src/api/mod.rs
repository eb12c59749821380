//! The API that the page reads; `openapi.json` describes it.

mod ask;
mod compare;
mod events;
pub(crate) mod extract;
mod find;
mod opening;
mod parts;
mod report;
mod runs;
mod series;
mod spans;
mod sql;
mod tiles;
mod tracks;

use crate::error::ApiError;
use crate::page;
use crate::state::Shared;
use axum::Router;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::{get, post};

pub use parts::{flame_of, steps_of};
pub use report::report_within;
pub use runs::{document_of as about, only_run};
pub use series::{all_marks, all_series, marks_of, series_of};
pub use sql::MOST_RUNS;
pub use tiles::{TILE_UNITS, tile_and_more};
pub use tracks::document as tracks_of;

/// Declares the routes once: for the router, and as a list for its tests and its description.
macro_rules! routes {
    ($($path:literal => $handler:expr,)*) => {
        /// The path of every route.
        #[cfg(test)]
        const PATHS: &[&str] = &[$($path),*];

        fn routes() -> Router<Shared> {
            Router::new()$(.route($path, $handler))*
        }
    };
}

routes! {
    "/" => get(page::index),
    "/{file}" => get(page::file),
    "/healthz" => get(healthz),
    "/api/openapi.json" => get(openapi),
    "/api/about" => get(runs::about),
    "/api/runs" => get(runs::list),
    "/api/runs/{run}/opening" => get(opening::opening),
    "/api/runs/{run}/report" => get(report::report),
    "/api/runs/{run}/steps" => get(parts::steps),
    "/api/runs/{run}/tracks" => get(tracks::tracks),
    "/api/runs/{run}/tiles" => get(tiles::tiles),
    "/api/runs/{run}/spans/{span}" => get(spans::span),
    "/api/runs/{run}/kernels/{kernel}" => get(spans::kernel),
    "/api/runs/{run}/walk" => get(find::walk),
    "/api/runs/{run}/search" => get(find::search),
    "/api/runs/{run}/range" => get(parts::range),
    "/api/runs/{run}/flame" => get(parts::flame),
    "/api/runs/{run}/marks" => get(series::marks),
    "/api/runs/{run}/mark" => get(series::mark),
    "/api/runs/{run}/series" => get(series::list),
    "/api/runs/{run}/series/{series}" => get(series::one),
    "/api/runs/{run}/compare/{other}" => get(compare::compare),
    "/api/sql" => post(sql::ask),
    "/api/events" => get(events::events),
}

/// All routes.
pub fn router(shared: Shared) -> Router {
    routes().fallback(nothing).method_not_allowed_fallback(not_so).with_state(shared)
}

/// What tools read to know the API.
const DESCRIPTION: &str = include_str!("../../../../docs/openapi.json");

async fn openapi() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], DESCRIPTION)
}

/// What no route is for.
async fn nothing() -> ApiError {
    ApiError::missing("nothing is here; /api/openapi.json lists what is")
}

/// What is there, but not for this method.
async fn not_so() -> ApiError {
    let words = "this method is not for this address; /api/openapi.json lists what is";
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, words)
}

async fn healthz() -> &'static str {
    "ok\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_description_has_every_route_and_no_other() {
        let description: serde_json::Value = serde_json::from_str(DESCRIPTION).expect("JSON");
        let told: BTreeSet<&str> =
            description["paths"].as_object().expect("paths").keys().map(String::as_str).collect();
        let is_page = |path: &&str| *path == "/" || *path == "/{file}";
        let all = PATHS.iter().chain(crate::collect::PATHS).copied();
        let there: BTreeSet<&str> = all.filter(|path| !is_page(path)).collect();
        assert_eq!(told, there);
    }
}

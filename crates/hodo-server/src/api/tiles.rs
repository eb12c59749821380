//! What a track looks like in a window at a resolution, as the arrays a renderer takes.

use super::ask;
use crate::error::ApiError;
use crate::state::Shared;
use crate::store::Loaded;
use axum::extract::{Path, Query, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use hodo_trace::timeline::Box;
use serde::Deserialize;

/// Pixels that a tile may have.
const MOST_PIXELS: i64 = 1 << 16;
/// Pixels of the tiles that the page asks for.
pub const TILE_UNITS: u64 = 4096;
const MAGIC: &[u8; 4] = b"HTL1";

/// Which tile.
#[derive(Deserialize)]
pub struct Tile {
    track: u32,
    t0: i64,
    t1: i64,
    res: i64,
    #[serde(default)]
    filter: String,
}

/// `GET /api/runs/{run}/tiles`.
pub async fn tiles(
    State(shared): State<Shared>,
    Path(run): Path<String>,
    Query(tile): Query<Tile>,
) -> Result<Response, ApiError> {
    let [t0, t1] = ask::ordered(tile.t0, tile.t1)?;
    if tile.res < 1 || t1.saturating_sub(t0) / tile.res > MOST_PIXELS {
        let words = format!(
            "res={} is too fine for that range; ask for {MOST_PIXELS} pixels at most",
            tile.res
        );
        return Err(ApiError::bad(words));
    }
    let bytes = ask::about(&shared, run, move |loaded| {
        tile_of(&loaded, tile.track, [t0, t1], tile.res as u64, &tile.filter)
    });
    Ok(([(header::CONTENT_TYPE, "application/octet-stream")], bytes.await?).into_response())
}

/// The bytes of a tile.
pub fn tile_of(
    loaded: &Loaded,
    track: u32,
    range: [i64; 2],
    res_ns: u64,
    filter: &str,
) -> Result<Vec<u8>, ApiError> {
    Ok(encoded(&boxes(loaded, track, range, res_ns, filter)?, range[0], res_ns))
}

/// The same of all of a track, and whether a finer one would show more.
pub fn tile_and_more(
    loaded: &Loaded,
    track: u32,
    range: [i64; 2],
    res_ns: u64,
) -> Result<(Vec<u8>, bool), ApiError> {
    let boxes = boxes(loaded, track, range, res_ns, "")?;
    let is_merged = boxes.iter().any(|one| one.count > 1);
    Ok((encoded(&boxes, range[0], res_ns), is_merged))
}

fn boxes(
    loaded: &Loaded,
    track: u32,
    range: [i64; 2],
    res_ns: u64,
    filter: &str,
) -> Result<Vec<Box>, ApiError> {
    let kept = loaded.kept(filter)?;
    let track = loaded.timeline.track(track).ok_or_else(|| {
        ApiError::missing(format!("no track {track} with slices; /tracks lists them"))
    })?;
    Ok(loaded.timeline.boxes(&loaded.run, track, range, res_ns, kept.as_deref()))
}

/// Header, then one array after another, each from a multiple of 8 bytes on.
fn encoded(boxes: &[Box], t0_ns: i64, res_ns: u64) -> Vec<u8> {
    let mut out = Vec::with_capacity(24 + boxes.len() * 36 + 4 * 8);
    out.extend(MAGIC);
    out.extend((boxes.len() as u32).to_le_bytes());
    out.extend((t0_ns as f64).to_le_bytes());
    out.extend((res_ns as f64).to_le_bytes());
    let mut column = |bytes: &dyn Fn(&Box, &mut Vec<u8>)| {
        boxes.iter().for_each(|one| bytes(one, &mut out));
        out.resize(out.len().next_multiple_of(8), 0);
    };
    column(&|one, out| out.extend((one.start_ns as f64).to_le_bytes()));
    column(&|one, out| out.extend((one.duration_ns as f64).to_le_bytes()));
    column(&|one, out| out.extend(one.id.map_or(0, |id| id.0).to_le_bytes()));
    column(&|one, out| out.extend(one.name.to_le_bytes()));
    column(&|one, out| out.extend(one.count.to_le_bytes()));
    column(&|one, out| out.extend(one.depth.to_le_bytes()));
    column(&|one, out| out.push(one.busy));
    column(&|one, out| out.push(one.flags));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_begin_at_multiples_of_eight_bytes() {
        let one = Box {
            start_ns: 3,
            duration_ns: 5,
            id: None,
            name: 7,
            count: 9,
            depth: 11,
            busy: 13,
            flags: 2,
        };
        let tile = encoded(&[one; 3], 1024, 64);
        assert_eq!(&tile[..4], b"HTL1");
        assert_eq!(tile.len(), 24 + 3 * 24 + 16 + 16 + 8 + 8 + 8);
        let at = |at: usize| f64::from_le_bytes(tile[at..at + 8].try_into().unwrap_or_default());
        assert_eq!((at(8), at(16), at(24), at(48)), (1024.0, 64.0, 3.0, 5.0));
        assert_eq!((tile[96], tile[112], tile[128], tile[136], tile[144]), (7, 9, 11, 13, 2));
    }
}

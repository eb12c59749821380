//! What a track looks like in a window at a resolution, as the arrays a renderer takes.

use super::ask;
use super::extract::{Path, Query};
use crate::error::ApiError;
use crate::state::Shared;
use crate::store::Loaded;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use hodo_trace::timeline::Box;
use serde::Deserialize;

/// Pixels that a tile may have.
const MOST_PIXELS: i64 = 1 << 16;
/// Pixels of the tiles that the page asks for.
pub const TILE_UNITS: u64 = 4096;
const MAGIC: &[u8; 4] = b"HTL1";
const MAGIC_OF_SEVERAL: &[u8; 4] = b"HTLS";
/// Tracks that may be asked for at once.
const MOST_TRACKS: usize = 64;
/// Stands for no tag. Where no box has one the column is left out.
const NO_TAG: u32 = u32::MAX;

/// Which tile, or those of several tracks at once.
#[derive(Deserialize)]
pub struct Tile {
    /// Numbers with commas between.
    track: String,
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
    let tracks = numbers(&tile.track)?;
    let bytes = ask::about(&shared, run, move |loaded| {
        let of = |track: &u32| {
            let boxes = boxes(&loaded, *track, [t0, t1], tile.res as u64, &tile.filter)?;
            Ok(encoded(&boxes, t0, tile.res as u64))
        };
        let mut tiles = tracks.iter().map(of).collect::<Result<Vec<Vec<u8>>, ApiError>>()?;
        Ok(if tiles.len() == 1 { tiles.remove(0) } else { together(&tiles) })
    });
    Ok(([(header::CONTENT_TYPE, "application/octet-stream")], bytes.await?).into_response())
}

fn numbers(tracks: &str) -> Result<Vec<u32>, ApiError> {
    let all: Result<Vec<u32>, _> = tracks.split(',').map(str::parse).collect();
    let all = all.map_err(|_| {
        ApiError::bad(format!("track={tracks} is no number of a track; /tracks lists them"))
    })?;
    match all.len() <= MOST_TRACKS {
        true => Ok(all),
        false => Err(ApiError::bad(format!("ask for {MOST_TRACKS} tracks at once at most"))),
    }
}

/// Several tiles in one answer: how many, then each with its length before it.
fn together(tiles: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::with_capacity(8 + tiles.iter().map(|tile| 8 + tile.len()).sum::<usize>());
    out.extend(MAGIC_OF_SEVERAL);
    out.extend((tiles.len() as u32).to_le_bytes());
    for tile in tiles {
        out.extend((tile.len() as u64).to_le_bytes());
        out.extend(tile);
    }
    out
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
    if boxes.iter().any(|one| one.tag.is_some()) {
        column(&|one, out| out.extend(one.tag.unwrap_or(NO_TAG).to_le_bytes()));
    }
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
            tag: None,
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
        let tagged = encoded(&[one, Box { tag: Some(5), ..one }], 1024, 64);
        let tags = &tagged[tagged.len() - 8..];
        assert_eq!(tags, [255, 255, 255, 255, 5, 0, 0, 0]);
    }
}

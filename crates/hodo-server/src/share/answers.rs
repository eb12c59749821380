//! The answers of a shared file, the most telling first, as many as fit.

use super::packed::packed;
use crate::api::{self, TILE_UNITS};
use crate::store::Loaded;
use hodo_trace::Filter;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::ops::Range;

/// What the report may take, packed; paths with the least time are left out until it does.
const REPORT_BYTES: usize = 400_000;
/// Levels of the timeline, each twice as fine as the one before.
const MOST_LEVELS: u32 = 12;
/// With less than this left a finer level is not begun.
const LEAST_ROOM: usize = 20_000;
/// Shorter answers stand as they are.
const SHORT_BYTES: usize = 1000;

/// Answers by the address that the page asks them at.
struct Answers {
    text: String,
    known: HashSet<String>,
    room: usize,
}

/// The answers as one JSON object of less than `room` bytes.
pub fn within(loaded: &Loaded, room: usize) -> Result<String, String> {
    let mut answers =
        Answers { text: String::from("{"), known: HashSet::new(), room: room.saturating_sub(2) };
    let run = format!("api/runs/{}", component(&loaded.id));
    let most = REPORT_BYTES.min(room / 2);
    let fits = |report: &Value| packed(report.to_string().as_bytes()).len() <= most;
    let needed = [
        (format!("{run}/report"), api::report_within(loaded, fits)),
        (format!("{run}/steps"), api::steps_of(loaded, &Filter::default())),
        (format!("{run}/marks"), api::marks_of(loaded)),
        (format!("{run}/series"), api::series_of(loaded)),
    ];
    // The page reads these before anything is unpacked.
    for (address, answer) in [("api/about", api::about(None)), ("api/runs", api::only_run(loaded))]
    {
        fitted(address, answers.put(address, &json!({"json": answer})))?;
    }
    for (address, answer) in needed {
        fitted(&address, answers.add(&address, &answer))?;
    }
    for by in ["wall", "cpu", "gpu"] {
        answers.add(&format!("{run}/flame?by={by}"), &api::flame_of(loaded, by));
    }
    for (name, x, answer) in api::all_marks(loaded) {
        let address = format!("{run}/mark?name={}&x={x}&max=2000", component(&name));
        answers.add(&address, &answer);
    }
    for (id, answer) in api::all_series(loaded) {
        answers.add(&format!("{run}/series/{}?max=800", component(&id)), &answer);
    }
    answers.add_timeline(loaded, &run)?;
    answers.text.push('}');
    Ok(answers.text)
}

impl Answers {
    /// Whether it fitted.
    fn add(&mut self, address: &str, answer: &Value) -> bool {
        let text = answer.to_string();
        match text.len() {
            ..SHORT_BYTES => self.put(address, &json!({"json": answer})),
            _ => self.put(address, &json!({"packed": packed(text.as_bytes())})),
        }
    }

    fn put(&mut self, address: &str, answer: &Value) -> bool {
        if self.known.contains(address) {
            return true;
        }
        let entry = format!("{}:{answer}", Value::from(address));
        // Each `<` becomes six signs.
        let bytes = entry.len() + 5 * entry.matches('<').count() + 1;
        let fits = bytes <= self.room;
        if fits {
            if self.text.len() > 1 {
                self.text.push(',');
            }
            self.text += &entry;
            self.known.insert(address.to_owned());
            self.room -= bytes;
        }
        fits
    }

    /// The tracks, of which those are left out that do not fit at the coarsest level, then finer levels.
    fn add_timeline(&mut self, loaded: &Loaded, run: &str) -> Result<(), String> {
        let mut tracks = api::tracks_of(loaded, 0);
        tracks["tracks_left_out"] = json!(0);
        let reserved = packed(tracks.to_string().as_bytes()).len() + SHORT_BYTES;
        let room = self.room;
        self.room = room.saturating_sub(reserved);
        let finer = self.add_tiles(loaded, run, numbers(loaded).collect(), 0..1);
        self.room += room.min(reserved);
        let coarsest = coarsest_ns(loaded);
        let is_there = |track: u32| self.known.contains(&tile_address(run, track, 0, coarsest));
        let missing: HashSet<String> = numbers(loaded)
            .filter(|&track| !is_there(track))
            .map(|track| track.to_string())
            .collect();
        if let Some(all) = tracks["tracks"].as_array_mut() {
            all.retain(|track| !missing.contains(track["id"].as_str().unwrap_or_default()));
        }
        tracks["tracks_left_out"] = json!(missing.len());
        let address = format!("{run}/tracks");
        fitted(&address, self.add(&address, &tracks))?;
        self.add_tiles(loaded, run, finer, 1..MOST_LEVELS);
        Ok(())
    }

    /// Whole levels of tracks, the coarsest first; those of which a finer one would show more.
    fn add_tiles(
        &mut self,
        loaded: &Loaded,
        run: &str,
        mut tracks: Vec<u32>,
        levels: Range<u32>,
    ) -> Vec<u32> {
        let coarsest = coarsest_ns(loaded);
        for level in levels {
            let res = coarsest >> level;
            if res == 0 || (level > 0 && self.room < LEAST_ROOM) {
                break;
            }
            tracks.retain(|&track| self.add_level(loaded, run, track, res));
        }
        tracks
    }

    /// A level of one track; whether a finer one would show more.
    fn add_level(&mut self, loaded: &Loaded, run: &str, track: u32, res: u64) -> bool {
        let width = res * TILE_UNITS;
        let mut has_more = false;
        for window in 0..=loaded.timeline.end_ns / width {
            let range = [window * width, (window + 1) * width];
            let address = tile_address(run, track, window, res);
            let tile = api::tile_and_more(loaded, track, range.map(|at| at as i64), res);
            let Ok((tile, is_merged)) = tile else { return false };
            has_more |= is_merged;
            if !self.put(&address, &json!({"packed": packed(&tile)})) {
                return false;
            }
        }
        has_more
    }
}

/// Nothing, or that there was no room for what the page cannot do without.
fn fitted(address: &str, has_fitted: bool) -> Result<(), String> {
    let why = "the run has too many names to fit one file";
    let error = || format!("{why} ({address} alone is too large); `hodo view` shows it");
    has_fitted.then_some(()).ok_or_else(error)
}

fn numbers(loaded: &Loaded) -> impl Iterator<Item = u32> {
    loaded.timeline.tracks.iter().map(|track| track.number)
}

/// The resolution at which one tile holds the run.
fn coarsest_ns(loaded: &Loaded) -> u64 {
    loaded.timeline.end_ns.max(1).div_ceil(TILE_UNITS).next_power_of_two()
}

fn tile_address(run: &str, track: u32, window: u64, res: u64) -> String {
    let width = res * TILE_UNITS;
    let (t0, t1) = (window * width, (window + 1) * width);
    format!("{run}/tiles?track={track}&t0={t0}&t1={t1}&res={res}")
}

/// A part of an address as a browser's `encodeURIComponent` writes it.
fn component(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.!~*'()".contains(&byte);
    let sign = |byte: u8| match plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    text.bytes().map(sign).collect()
}

#[cfg(test)]
mod tests {
    use super::{component, within};
    use crate::share::packed::unpacked;
    use crate::store::Store;
    use serde_json::Value;
    use std::path::Path;

    #[test]
    fn a_track_is_there_or_counted_as_left_out_however_little_fits() {
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../hodo-cli/tests/data");
        let store = Store::new(&data);
        let loaded = store.get("h200-training").unwrap_or_else(|error| panic!("{}", error.words()));
        let all = loaded.timeline.tracks.len() as u64;
        let mut counts = Vec::new();
        for room in [24_000, 40_000, 60_000, 1_000_000] {
            let text = within(&loaded, room).unwrap();
            assert!(text.len() < room, "{} of {room}", text.len());
            let answers: Value = serde_json::from_str(&text).unwrap();
            let is_first = |key: &&String| key.contains("/tiles?") && key.contains("&t0=0&");
            let tracks = |key: &String| key.split(['=', '&']).nth(1).map(str::to_owned);
            let keys = answers.as_object().unwrap().keys().filter(is_first);
            let shown = keys.filter_map(tracks).collect::<std::collections::HashSet<_>>().len();
            let tracks = &answers["api/runs/h200-training/tracks"]["packed"];
            let tracks = unpacked(tracks.as_str().expect("a long answer is packed"));
            let tracks: Value = serde_json::from_slice(&tracks).unwrap();
            let listed = tracks["tracks"].as_array().unwrap();
            let listed = listed.iter().filter(|track| track["slices"] != 0).count();
            assert_eq!(listed, shown);
            assert_eq!(tracks["tracks_left_out"], all - shown as u64);
            counts.push(shown as u64);
        }
        assert!(counts.is_sorted() && counts[0] < all, "{counts:?}");
        assert_eq!(counts.last(), Some(&all));
    }

    #[test]
    fn parts_of_addresses_are_written_as_browsers_do() {
        assert_eq!(component("vm|gpu:0|gpu.power"), "vm%7Cgpu%3A0%7Cgpu.power");
        assert_eq!(component("train/loss ü"), "train%2Floss%20%C3%BC");
    }
}

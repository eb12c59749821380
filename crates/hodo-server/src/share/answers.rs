//! The answers of a shared file, the most telling first, as many as fit.

use super::base64;
use crate::api::{self, TILE_UNITS};
use crate::store::Loaded;
use hodo_trace::Filter;
use serde_json::{Value, json};
use std::collections::HashSet;

/// What the report may take; paths with the least time are left out until it does.
const REPORT_BYTES: usize = 500_000;
/// Levels of the timeline, each twice as fine as the one before.
const MOST_LEVELS: u32 = 12;
/// With less than this left a level is not begun.
const LEAST_ROOM: usize = 20_000;

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
    let needed = [
        ("api/about".to_owned(), api::about(None)),
        ("api/runs".to_owned(), api::only_run(loaded)),
        (format!("{run}/tracks"), api::tracks_of(loaded, 0)),
        (format!("{run}/report"), api::report_within(loaded, REPORT_BYTES)),
        (format!("{run}/steps"), api::steps_of(loaded, &Filter::default())),
        (format!("{run}/marks"), api::marks_of(loaded)),
        (format!("{run}/series"), api::series_of(loaded)),
    ];
    for (address, answer) in needed {
        if !answers.add(&address, &json!({"json": answer})) {
            return Err(format!(
                "the run has too many names to fit one file ({address} alone is too large); \
                 `hodo view` shows it"
            ));
        }
    }
    for by in ["wall", "cpu", "gpu"] {
        answers.add(&format!("{run}/flame?by={by}"), &json!({"json": api::flame_of(loaded, by)}));
    }
    answers.add_tiles(loaded, &run, 1);
    for (name, x, answer) in api::all_marks(loaded) {
        let address = format!("{run}/marks/{}?x={x}&max=2000", component(&name));
        answers.add(&address, &json!({"json": answer}));
    }
    for (id, answer) in api::all_series(loaded) {
        answers.add(&format!("{run}/series/{}?max=800", component(&id)), &json!({"json": answer}));
    }
    answers.add_tiles(loaded, &run, MOST_LEVELS);
    answers.text.push('}');
    Ok(answers.text)
}

impl Answers {
    /// Whether it fitted.
    fn add(&mut self, address: &str, answer: &Value) -> bool {
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

    /// Whole levels of all tracks, the coarsest first, until no finer one would show more.
    fn add_tiles(&mut self, loaded: &Loaded, run: &str, levels: u32) {
        let end_ns = loaded.timeline.end_ns.max(1);
        let coarsest = end_ns.div_ceil(TILE_UNITS).next_power_of_two();
        let mut tracks: Vec<u32> =
            loaded.timeline.tracks.iter().map(|track| track.number).collect();
        for level in 0..levels {
            let res = coarsest >> level;
            if res == 0 || self.room < LEAST_ROOM {
                return;
            }
            tracks.retain(|&track| self.add_level(loaded, run, track, res));
        }
    }

    /// A level of one track; whether a finer one would show more.
    fn add_level(&mut self, loaded: &Loaded, run: &str, track: u32, res: u64) -> bool {
        let width = res * TILE_UNITS;
        let mut has_more = false;
        for window in 0..=loaded.timeline.end_ns / width {
            let range = [window * width, (window + 1) * width];
            let [t0, t1] = range;
            let address = format!("{run}/tiles?track={track}&t0={t0}&t1={t1}&res={res}");
            let tile = api::tile_and_more(loaded, track, range.map(|at| at as i64), res);
            let Ok((tile, is_merged)) = tile else { return false };
            has_more |= is_merged;
            if !self.add(&address, &json!({"base64": base64::encoded(&tile)})) {
                return false;
            }
        }
        has_more
    }
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
    use super::component;

    #[test]
    fn parts_of_addresses_are_written_as_browsers_do() {
        assert_eq!(component("vm|gpu:0|gpu.power"), "vm%7Cgpu%3A0%7Cgpu.power");
        assert_eq!(component("train/loss ü"), "train%2Floss%20%C3%BC");
    }
}

//! The runs of the folder.

use super::ask;
use super::extract::Query;
use crate::error::ApiError;
use crate::state::Shared;
use crate::store::{Glimpse, Loaded, Store};
use axum::Json;
use axum::extract::State;
use hodo_trace::timeline::{MarkAxis, Points, Stable, Timeline};
use hodo_trace::{
    Condition, Filter, GpuState, Names, ReadOptions, Run, RunSummary, Value as Attribute,
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// Points of a sparkline.
const MOST_POINTS: usize = 64;
/// A run whose records take more on disk is not read for a list.
const QUICK_BYTES: u64 = 16 << 20;
/// So long runs are read for one list; the next one goes on.
const READING_TIME: Duration = Duration::from_millis(400);

/// Which runs.
#[derive(Deserialize)]
pub struct Wanted {
    #[serde(default)]
    q: String,
    #[serde(default)]
    filter: String,
}

/// `GET /api/about`.
pub async fn about(State(shared): State<Shared>) -> Json<Value> {
    Json(document_of(Some(&shared.store)))
}

/// About a server, or about a file that has none.
pub fn document_of(store: Option<&Store>) -> Value {
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "sql": store.is_some() && super::sql::is_there(),
        "dir": store.map(|store| store.dir().display().to_string()),
    })
}

/// The list of one run alone, which says nothing of where it is.
pub fn only_run(loaded: &Loaded) -> Value {
    let summary = Run::summary(&loaded.run.folder);
    let mut row = described(&loaded.id, &summary, glimpse(&loaded.run, &loaded.timeline));
    row["path"] = Value::Null;
    if let Some(attributes) = row["attributes"].as_object_mut() {
        attributes.remove("cwd");
    }
    json!({"dir": null, "runs": [row], "unread": 0})
}

/// `GET /api/runs`.
pub async fn list(
    State(shared): State<Shared>,
    Query(wanted): Query<Wanted>,
) -> Result<Json<Value>, ApiError> {
    let store = shared.store.clone();
    let filter: Filter = wanted.filter.parse()?;
    let time = ReadingTime::default();
    ask::apart(move || Ok(Json(document(&store, &wanted.q, &filter, &time)))).await
}

fn document(store: &Store, words: &str, filter: &Filter, time: &ReadingTime) -> Value {
    let words = words.to_lowercase();
    let has_words = |row: &Value| {
        let mut text = String::new();
        add_words(row, &mut text);
        words.split_whitespace().all(|word| text.contains(word))
    };
    let runs = Run::list(store.dir());
    // What is read tells whether a run fits, so time goes to those that do not fit too.
    let all: Vec<_> = runs.into_iter().map(|run| row(store, &run, time)).collect();
    let unread = all.iter().filter(|(_, why)| *why == Some(Unread::Yet)).count();
    let fit = all.into_iter().filter(|(row, _)| has_words(row) && fits(row, filter));
    let rows: Vec<Value> = fit.map(|(row, why)| with_why(row, why)).collect();
    json!({"dir": store.dir().display().to_string(), "runs": rows, "unread": unread})
}

/// What a row says of its run, and not what hodo calls that: attributes alone have names of the user's own.
fn add_words(value: &Value, text: &mut String) {
    match value {
        Value::Null | Value::Bool(_) => {}
        Value::String(words) => *text += &words.to_lowercase(),
        Value::Number(number) => *text += &number.to_string(),
        Value::Array(values) => values.iter().for_each(|value| add_words(value, text)),
        Value::Object(values) => {
            for (name, value) in values {
                if name == "attributes" {
                    let names = value.as_object().into_iter().flat_map(|named| named.keys());
                    names.for_each(|name| *text += &format!(" {}", name.to_lowercase()));
                }
                add_words(value, text);
            }
        }
    }
    // No word begins in one value and ends in the next.
    text.push(' ');
}

/// Conditions on a run are on what its row has: `app=train`, `rank=0`, `gpu_work>1000`, `host=gpu1`.
fn fits(row: &Value, filter: &Filter) -> bool {
    let value = |key: &str| match &row[key] {
        Value::Null => &row["attributes"][key],
        found => found,
    };
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let names = Names::default();
    let holds = |condition: &Condition| match value(&condition.key) {
        Value::Null => false,
        Value::Number(number) => {
            condition.matches(&Attribute::F64(number.as_f64().unwrap_or(f64::NAN)), &names)
        }
        other => {
            let (text, cut) = (text(other).into(), false);
            condition.matches(&Attribute::Text { text, cut }, &names)
        }
    };
    let named = filter.name.as_ref().is_none_or(|name| name.matches(&text(&row["app"])));
    let ranked = filter.rank.is_none_or(|rank| has_rank(row, rank));
    named && ranked && filter.conditions.iter().all(holds)
}

fn has_rank(row: &Value, rank: u32) -> bool {
    row["ranks"].as_array().is_some_and(|ranks| ranks.iter().any(|each| *each == rank))
}

fn row(store: &Store, run: &RunSummary, time: &ReadingTime) -> (Value, Option<Unread>) {
    let id = run.folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let inside = store.glimpse(&id, run, || inside(store, &id, run, time));
    let why = inside.is_none().then(|| Unread::of(store, &id, run));
    (described(&id, run, inside.unwrap_or_default()), why)
}

/// Words of ours are no words of the run: nobody searches for them.
fn with_why(mut row: Value, why: Option<Unread>) -> Value {
    row["main_mark_why"] = json!(why.map(Unread::words));
    row
}

/// Why a run was not read for the list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unread {
    /// It is elsewhere, but for what a list shows.
    Away,
    /// Its records take more than is read for a list.
    Large,
    /// There was no time left; a later list has it.
    Yet,
}

impl Unread {
    fn of(store: &Store, id: &str, run: &RunSummary) -> Unread {
        match (store.is_away(id), run.record_bytes > QUICK_BYTES) {
            (true, _) => Unread::Away,
            (_, true) => Unread::Large,
            (..) => Unread::Yet,
        }
    }

    fn words(self) -> String {
        match self {
            Unread::Away => {
                "not read for a list: it is in the collector's store; open the run".to_owned()
            }
            Unread::Large => format!(
                "not read for a list: its records take more than {} MiB; open the run",
                QUICK_BYTES >> 20
            ),
            Unread::Yet => "not read yet; the list goes on by itself, or open the run".to_owned(),
        }
    }
}

fn described(id: &str, run: &RunSummary, Glimpse { gpus, main_mark }: Glimpse) -> Value {
    json!({
        "id": id, "app": run.info.app, "path": run.folder.display().to_string(),
        "state": run.state, "heard_unix_ns": run.heard_ns, "start_unix_ns": run.start_ns, "duration_ns": run.wall_ns,
        "processes": run.processes, "scopes": run.spans, "gpu_work": run.gpu_work,
        "gpu": gpus, "ranks": run.ranks, "world_size": run.info.world_size,
        "attributes": {
            "host": run.info.host, "command": run.info.argv.join(" "), "cwd": run.info.cwd,
            "git_revision": run.info.git_revision, "imported": run.info.imported,
        },
        "lost": run.lost, "open": run.open, "bytes": run.bytes,
        "untimed_processes": run.uncalibrated, "main_mark": main_mark, "main_mark_why": null,
    })
}

/// The time that runs are read for one list. It begins with the first of them, so that each list tells
/// of one more at the least, however long it took to find them.
#[derive(Default)]
struct ReadingTime(OnceCell<Instant>);

impl ReadingTime {
    fn is_left(&self) -> bool {
        match self.0.get() {
            Some(begun) => begun.elapsed() < READING_TIME,
            None => self.0.set(Instant::now()).is_ok(),
        }
    }
}

/// What only reading a run tells; not of a large one, and not when many were just read. Of one that
/// cannot be read it is nothing, and will be.
fn inside(store: &Store, id: &str, run: &RunSummary, time: &ReadingTime) -> Option<Glimpse> {
    if let Some(loaded) = store.peek(id) {
        return Some(glimpse(&loaded.run, &loaded.timeline));
    }
    let is_quick = run.record_bytes <= QUICK_BYTES && time.is_left();
    let read = is_quick.then(|| Run::open(&run.folder, &ReadOptions::default()))?;
    let told = read.map(|run| glimpse(&run, &run.timeline(&mut Stable::default())));
    Some(told.unwrap_or_default())
}

fn glimpse(run: &Run, timeline: &Timeline) -> Glimpse {
    // The one that was made most often, unless one is a loss.
    let marks = timeline.marks(run);
    let numbers = |mark: &&Value| mark["numbers"].as_u64() > Some(1);
    let rank = |mark: &&Value| {
        let is_loss = mark["name"].as_str().is_some_and(|name| name.contains("loss"));
        (is_loss, mark["kind"] == "series", mark["numbers"].as_u64())
    };
    let main = marks.iter().filter(numbers).max_by_key(rank);
    let main_mark = main.and_then(|mark| mark["name"].as_str()).and_then(|name| {
        let points = timeline.mark(run, &Filter::default(), name, MarkAxis::Time)?;
        Some(json!({"name": name, "values": Points::new(&points, MOST_POINTS).mean}))
    });
    Glimpse { gpus: Some(gpus(run)), main_mark }
}

fn gpus(run: &Run) -> BTreeSet<String> {
    let states = run.processes.iter().filter_map(|process| process.gpu.state.as_ref());
    states.flat_map(GpuState::devices).map(|device| device.name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// A store of one small run.
    fn store(is_whole: bool) -> Store {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../hodo-cli/tests/data");
        Store::of_whole(&dir, Box::new(move |_| is_whole))
    }

    fn spent() -> ReadingTime {
        let begun = Instant::now().checked_sub(READING_TIME).expect("a machine that was just on");
        ReadingTime(OnceCell::from(begun))
    }

    #[test]
    fn words_are_looked_for_in_what_a_run_says() {
        let row = json!({
            "id": "r-1", "gpu_work": 7, "lost": null, "live": true, "command": "python \"My Train.py\"",
            "attributes": {"Variant": "beam", "lr": 0.5}, "hosts": ["gpu1", "gpu2"],
        });
        let mut text = String::new();
        add_words(&row, &mut text);
        let has = |word: &str| text.contains(word);
        assert!(
            ["r-1", "7", "\"my", "train.py\"", "variant", "beam", "0.5", "gpu2"].map(has)
                == [true; 8]
        );
        for ours in ["gpu_work", "lost", "command", "true", "null", "attributes", "1gpu"] {
            assert!(!has(ours), "{ours}: {text}");
        }
    }

    #[test]
    fn a_list_says_how_many_runs_the_next_one_reads_also_where_a_filter_hides_them() {
        let (store, hidden) = (store(true), "app=nothing".parse().expect("a filter"));
        let unread = |filter: &Filter, time| document(&store, "", filter, &time)["unread"].clone();
        assert_eq!(unread(&Filter::default(), spent()), 1);
        assert_eq!(unread(&hidden, spent()), 1);
        assert_eq!(
            unread(&hidden, ReadingTime::default()),
            0,
            "it was read though it does not fit"
        );
        assert_eq!(unread(&hidden, spent()), 0);
    }

    #[test]
    fn a_run_that_is_elsewhere_is_none_that_the_next_list_reads_and_says_so() {
        let list = document(&store(false), "", &Filter::default(), &ReadingTime::default());
        assert_eq!(list["unread"], 0);
        let why = list["runs"][0]["main_mark_why"].as_str();
        assert!(why.is_some_and(|why| why.contains("collector's store")), "{why:?}");
        let words = "collector";
        let found = document(&store(false), words, &Filter::default(), &ReadingTime::default());
        assert_eq!(found["runs"], json!([]), "no word of the run's");
    }

    #[test]
    fn the_time_for_reading_begins_with_the_first_run_and_ends() {
        let time = ReadingTime::default();
        std::thread::sleep(READING_TIME);
        assert!(time.0.get().is_none(), "a list that took longer has taken nothing of it");
        time.is_left();
        std::thread::sleep(READING_TIME);
        assert!(!time.is_left());
    }
}

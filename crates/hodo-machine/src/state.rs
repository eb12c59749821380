//! What the sampler says of itself: beside the readings, and in health.

use crate::sampler::{Cost, Sampler};
use crate::store::{Holder, Kept};
use crate::table::Absent;
use hodo_record::binding::Object;
use std::path::PathBuf;
use std::time::Duration;

/// What kind of sampler it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A thread of the program that records.
    InProcess,
    /// A process of its own.
    Monitor,
}

impl Kind {
    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Kind::InProcess => "in-process",
            Kind::Monitor => "monitor",
        }
    }
}

/// Where a sampler stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Standing {
    /// It samples nothing.
    #[default]
    Off,
    /// It is opening what it reads.
    Starting,
    /// It samples this host for this run.
    Sampling,
    /// Another does, and this one takes over when that one ends.
    Linked(Holder),
    /// It waits for a scope to open.
    Idle,
    /// It was stopped for a fork, and goes on with the next scope.
    Paused,
    /// It cannot write, and why; it tries again.
    Failed(String),
}

impl Standing {
    /// Its word.
    pub fn word(&self) -> &'static str {
        match self {
            Standing::Off => "off",
            Standing::Starting => "starting",
            Standing::Sampling => "sampling",
            Standing::Linked(_) => "linked",
            Standing::Idle => "idle",
            Standing::Paused => "paused",
            Standing::Failed(_) => "failed",
        }
    }
}

/// The state of a sampler, for health.
#[derive(Clone, Debug, Default)]
pub struct Status {
    /// Where it stands.
    pub standing: Standing,
    /// Time between rounds; zero when off.
    pub interval: Duration,
    /// Whether it reads only while a scope is open.
    pub only_in_scopes: bool,
    /// What it has cost.
    pub cost: Cost,
    /// What it cannot read.
    pub absent: Vec<Absent>,
    /// What became of what it read.
    pub kept: Kept,
    /// The folder it writes into.
    pub folder: Option<PathBuf>,
}

impl Status {
    /// As a JSON object.
    pub fn json(&self) -> String {
        let (why, holder) = match &self.standing {
            Standing::Failed(why) => (Some(why.as_str()), None),
            Standing::Linked(holder) => (None, Some(holder)),
            _ if !self.kept.trouble.is_empty() => (Some(self.kept.trouble.as_str()), None),
            _ => (None, None),
        };
        let by = holder.map_or("null".into(), |holder| {
            Object::default().number("pid", holder.pid).text("kind", &holder.kind).finish()
        });
        let folder = self.folder.as_ref().map(|folder| folder.to_string_lossy());
        Object::default()
            .text("state", self.standing.word())
            .maybe_text("why", why)
            .raw("by", by.trim())
            .raw("interval_ms", &milliseconds(self.interval))
            .raw("only_in_scopes", if self.only_in_scopes { "true" } else { "false" })
            .number("rounds", self.cost.rounds)
            .number("late", self.cost.late)
            .raw("cost", cost(&self.cost).trim())
            .number("lost_rows", self.kept.lost_rows)
            .number("file_bytes", self.kept.bytes)
            .maybe_text("folder", folder.as_deref())
            .raw("absent", &absent(&self.absent))
            .finish()
    }
}

/// Who writes, for the state beside the readings.
#[derive(Clone, Debug)]
pub struct Writer {
    /// What kind of sampler it is.
    pub kind: Kind,
    /// Whether it reads only while a scope is open.
    pub only_in_scopes: bool,
    /// The host, an object.
    pub host: String,
}

/// The state that is written beside the readings.
pub fn json(writer: &Writer, sampler: &Sampler, kept: &Kept) -> String {
    let own = Object::default()
        .number("pid", std::process::id().into())
        .text("kind", writer.kind.word())
        .raw("interval_ms", &milliseconds(sampler.interval()))
        .raw("only_in_scopes", if writer.only_in_scopes { "true" } else { "false" })
        .finish();
    let object = Object::default()
        .number("format", 1)
        .raw("sampler", own.trim())
        .raw("host", writer.host.trim());
    let told =
        sampler.told().into_iter().fold(object, |object, (name, json)| object.raw(name, &json));
    told.raw("absent", &absent(&sampler.absent()))
        .raw("cost", cost(&sampler.cost()).trim())
        .number("lost_rows", kept.lost_rows)
        .number("gone_blocks", kept.gone_blocks)
        .number("removed_blocks", kept.removed_blocks)
        .maybe_number("oldest_kept_ns", kept.oldest_kept_ns)
        .finish()
}

fn milliseconds(time: Duration) -> String {
    let us = time.as_micros();
    if us.is_multiple_of(1000) {
        (us / 1000).to_string()
    } else {
        format!("{}.{:03}", us / 1000, us % 1000)
    }
}

fn cost(cost: &Cost) -> String {
    Object::default()
        .number("rounds", cost.rounds)
        .number("late", cost.late)
        .number("spared", cost.spared)
        .number("cpu_ns", cost.cpu_ns)
        .number("mean_round_us", cost.mean_round_ns() / 1000)
        .number("max_round_us", cost.max_round_ns / 1000)
        .finish()
}

fn absent(absent: &[Absent]) -> String {
    let one = |absent: &Absent| {
        let object = Object::default().text("part", &absent.part).text("why", &absent.why);
        object.text("fix", &absent.fix).finish().trim().to_owned()
    };
    let list: Vec<String> = absent.iter().map(one).collect();
    format!("[{}]", list.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_of_a_follower_names_who_samples() {
        let holder = Holder { pid: 7, kind: "monitor".into() };
        let status = Status {
            standing: Standing::Linked(holder),
            interval: Duration::from_millis(50),
            absent: vec![Absent {
                part: "gpu".into(),
                why: "no \"driver\"".into(),
                fix: String::new(),
            }],
            ..Status::default()
        };
        let json = status.json();
        assert!(json.contains("\"state\": \"linked\""), "{json}");
        assert!(json.contains("\"kind\": \"monitor\""), "{json}");
        assert!(json.contains("\"interval_ms\": 50,"), "{json}");
        assert!(json.contains(r#""why": "no \"driver\"""#), "{json}");
    }

    #[test]
    fn intervals_keep_their_fraction() {
        assert_eq!(milliseconds(Duration::from_micros(12_500)), "12.500");
        assert_eq!(milliseconds(Duration::from_secs(1)), "1000");
    }
}

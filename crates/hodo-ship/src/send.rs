//! Sending one file, and what an answer means for it.

use crate::client::Refusal;
use crate::parts::{self, Whose};
use crate::round::Round;
use hodo_format::ship::{ARENA_FILE, BEAT_SECONDS, Part, WHOLE_BYTES, checksum};
use std::path::Path;
use std::time::{Duration, Instant};

/// The least that a chunk is cut to.
const LEAST_CHUNK: usize = 64 << 10;
/// Chunks of a file before the others have their turn.
const TURN: usize = 8;
/// Tries of a chunk that comes out garbled.
const GARBLED: u32 = 5;
/// How often what a callback counts is looked at; the time of its file says nothing.
const NEWEST: Duration = Duration::from_secs(BEAT_SECONDS);

/// What the collector was told last of who lives.
pub(crate) struct Beat {
    at: Instant,
    living: Vec<(Part, bool)>,
    done: bool,
}

impl Round {
    /// Sends what is ready of a file, at most so much that others have their turn.
    pub(crate) fn append(
        &mut self,
        part: &Part,
        name: &str,
        path: &Path,
        tell: &mut dyn FnMut(&Round),
    ) -> Result<bool, Refusal> {
        // Frames are compressed as they are; an arena is mostly empty.
        let compress = name == ARENA_FILE || name.starts_with("catalog");
        for _ in 0..TURN {
            let mut chunk = std::mem::take(&mut self.chunk);
            let most = self.chunk_bytes;
            let file = self.known(part, name);
            if file.ready() == 0 {
                self.chunk = chunk;
                return Ok(false);
            }
            if let Err(error) = file.read(path, &mut chunk, most) {
                self.chunk = chunk;
                self.cannot_read(part, path, &error);
                return Ok(false);
            }
            let at = file.offset();
            let answer = self.client.append((part, name), at, &chunk, compress);
            let bytes = chunk.len() as u64;
            self.chunk = chunk;
            self.answered(part, name, (at, bytes), answer)?;
            self.beat(false)?;
            tell(self);
        }
        Ok(self.known(part, name).ready() > 0)
    }

    /// Takes up what the collector said to `bytes` at `at`.
    fn answered(
        &mut self,
        part: &Part,
        name: &str,
        (at, bytes): (u64, u64),
        answer: Result<u64, Refusal>,
    ) -> Result<(), Refusal> {
        let can_be_less = self.chunk_bytes > LEAST_CHUNK;
        let file = self.known(part, name);
        match answer {
            Ok(length) if length > file.held => {
                file.took(length);
                self.sent += bytes.min(length - at);
                self.progress += 1;
                return Ok(());
            }
            Ok(_) => {
                let why = format!("the collector kept nothing of {part}/{name}");
                return Err(Refusal::Later { why, after: None });
            }
            // It holds less than it said: it is asked what it has, and gets the rest again.
            Err(Refusal::Length { length, why }) if length < at => {
                return Err(Refusal::Later { why, after: None });
            }
            Err(Refusal::Length { why, .. } | Refusal::File(why)) => file.refused = Some(why),
            Err(Refusal::TooLong) if can_be_less => self.chunk_bytes /= 2,
            Err(Refusal::TooLong) => file.refused = Some("every chunk is too long for it".into()),
            Err(Refusal::Garbled(why)) => {
                file.garbled += 1;
                if file.garbled >= GARBLED {
                    file.refused = Some(why);
                }
            }
            Err(other) => return Err(other),
        }
        Ok(())
    }

    /// Sends a file whole, if the collector has another or none.
    pub(crate) fn replace(&mut self, part: &Part, name: &str) -> Result<(), Refusal> {
        let key = (part.clone(), name.to_owned());
        if self.refused_whole.contains_key(&key) {
            return Ok(());
        }
        let path = parts::path(&self.run, part, name);
        let about = match path.metadata() {
            Ok(about) => about,
            Err(error) => {
                self.cannot_read(part, &path, &error);
                return Ok(());
            }
        };
        if about.len() > WHOLE_BYTES as u64 {
            let why = format!("longer than {} MiB", WHOLE_BYTES >> 20);
            self.refused_whole.insert(key, why);
            return Ok(());
        }
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) => {
                self.cannot_read(part, &path, &error);
                return Ok(());
            }
        };
        let sum = checksum(&bytes);
        let theirs = self.whole.get(&key);
        // Several hosts have a run's description, each its own: the first stays.
        let is_anothers = *part == Part::RUN && theirs.is_some() && self.whose != Whose::All;
        if is_anothers || theirs == Some(&sum) {
            return Ok(());
        }
        match self.client.replace((part, name), &bytes) {
            Ok(()) => {
                self.whole.insert(key, sum);
                self.sent += bytes.len() as u64;
                self.progress += 1;
            }
            Err(Refusal::File(why) | Refusal::Length { why, .. }) => {
                self.refused_whole.insert(key, why);
            }
            Err(Refusal::TooLong) => {
                self.refused_whole.insert(key, "too long for the collector".into());
            }
            Err(Refusal::Garbled(why)) => return Err(Refusal::Later { why, after: None }),
            Err(other) => return Err(other),
        }
        Ok(())
    }

    pub(crate) fn is_time_for_newest(&mut self, part: &Part) -> bool {
        let is_early = self.newest_at.get(part).is_some_and(|at| at.elapsed() < NEWEST);
        if !is_early {
            self.newest_at.insert(part.clone(), Instant::now());
        }
        !is_early
    }

    /// Tells who lives, when that is news or some time has passed.
    pub(crate) fn beat(&mut self, done: bool) -> Result<(), Refusal> {
        let is_told = |beat: &Beat| {
            beat.at.elapsed() < NEWEST && beat.living == self.living && beat.done == done
        };
        if self.beat.as_ref().is_some_and(is_told) {
            return Ok(());
        }
        self.client.beat(&self.host, &self.living, done)?;
        self.progress += 1;
        self.beat = Some(Beat { at: Instant::now(), living: self.living.clone(), done });
        Ok(())
    }
}

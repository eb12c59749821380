//! One round: everything that there is to ship now, once.

use crate::client::{AllHeld, Client, Refusal};
use crate::file::{Growing, Reach};
use crate::frames::has_end;
use crate::lives::{Life, Lives};
use crate::parts::{self, Files, Whose};
use crate::send::Beat;
use crate::{ShipError, Status};
use hodo_format::ship::{ARENA_FILE, CATALOG_FILE, CHUNK_BYTES, Part, RUN_FILE};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// How a round ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rest {
    /// There is more to be shipped at once.
    pub(crate) more: bool,
    /// Something is still being written.
    pub(crate) live: bool,
}

/// A run on its way, and what is known of it on both sides.
pub(crate) struct Round {
    pub(crate) run: PathBuf,
    pub(crate) client: Client,
    pub(crate) whose: Whose,
    pub(crate) host: String,
    follows: bool,
    held: Option<AllHeld>,
    pub(crate) files: BTreeMap<(Part, String), Growing>,
    /// Checksums of files that were sent whole, as the collector has them.
    pub(crate) whole: HashMap<(Part, String), String>,
    pub(crate) refused_whole: BTreeMap<(Part, String), String>,
    pub(crate) newest_at: HashMap<Part, Instant>,
    /// Parts whose folders were there once.
    seen: BTreeSet<Part>,
    /// Processes that have ended and are shipped.
    complete: HashSet<Part>,
    /// The part with which the next round begins, where the last one broke off.
    begins: Option<Part>,
    lives: Lives,
    /// Another host, on which a process of the run may still record.
    may_run_on: Option<String>,
    /// Which parts live, as of this round.
    pub(crate) living: Vec<(Part, bool)>,
    pub(crate) beat: Option<Beat>,
    pub(crate) chunk: Vec<u8>,
    pub(crate) chunk_bytes: usize,
    removed_bytes: u64,
    /// Bytes that were sent and taken.
    pub(crate) sent: u64,
    /// A file that could not be read, and why.
    unreadable: Option<String>,
    /// Requests that did what they were for.
    pub(crate) progress: u64,
}

impl Round {
    pub(crate) fn new(
        run: &Path,
        client: Client,
        whose: Whose,
        host: String,
        (follows, others_ended): (bool, bool),
    ) -> Round {
        Round {
            run: run.to_owned(),
            client,
            whose,
            lives: Lives::new(host.clone(), others_ended),
            host,
            follows,
            held: None,
            files: BTreeMap::new(),
            whole: HashMap::new(),
            refused_whole: BTreeMap::new(),
            newest_at: HashMap::new(),
            seen: BTreeSet::new(),
            complete: HashSet::new(),
            begins: None,
            may_run_on: None,
            living: Vec::new(),
            beat: None,
            chunk: Vec::new(),
            chunk_bytes: CHUNK_BYTES,
            removed_bytes: 0,
            sent: 0,
            unreadable: None,
            progress: 0,
        }
    }

    /// What the collector holds is to be asked again: something went wrong.
    pub(crate) fn forget_held(&mut self) {
        self.held = None;
    }

    /// Looks at how much there is, for those who are told how much waits.
    pub(crate) fn survey(&mut self) {
        for part in self.parts() {
            for (name, length) in self.files_of(&part).appended {
                self.known(&part, &name).waits(length);
            }
        }
    }

    /// Ships what there is.
    pub(crate) fn go(&mut self, tell: &mut dyn FnMut(&Round)) -> Result<Rest, Refusal> {
        self.ask()?;
        (self.unreadable, self.may_run_on) = (None, None);
        let parts = self.parts();
        let lives = self.lives_of(&parts);
        let live = lives.iter().any(|(_, life)| *life == Life::Live);
        self.living = recorded(&lives);
        self.beat(false)?;
        self.replace(&Part::RUN, RUN_FILE)?;
        let more = self.in_turn(lives, tell)?;
        self.note_removed();
        tell(self);
        Ok(Rest { more, live })
    }

    /// Ships all parts; true when there is more to be shipped at once. A round that breaks off is gone on
    /// with where it did: a collector that takes little at a time takes something of each.
    fn in_turn(
        &mut self,
        mut parts: Vec<(Part, Life)>,
        tell: &mut dyn FnMut(&Round),
    ) -> Result<bool, Refusal> {
        parts.retain(|(part, _)| !self.complete.contains(part));
        // Tables stay behind all else, in their order.
        let recorded = parts.iter().take_while(|(part, _)| !part.is_packed()).count();
        let recorded = &mut parts[..recorded];
        let begins = self.begins.take();
        let begins =
            begins.and_then(|begins| recorded.iter().position(|(part, _)| *part >= begins));
        recorded.rotate_left(begins.unwrap_or(0));
        let mut more = false;
        for (number, (part, life)) in parts.iter().enumerate() {
            // One that does not even begin keeps no other waiting.
            self.begins = parts.get(number.max(1)).map(|(part, _)| part.clone());
            more |= self.part(part, *life, tell)?;
        }
        self.begins = None;
        Ok(more)
    }

    /// Tells the collector that this is all, if it is.
    pub(crate) fn finish(&mut self) -> Result<(), Refusal> {
        let parts = self.parts();
        let lives = self.lives_of(&parts);
        if let Some(why) = self.unreadable.clone() {
            return Err(Refusal::Later { why, after: None });
        }
        if let Some((part, _)) = lives.iter().find(|(_, life)| *life == Life::Live) {
            return Err(Refusal::Later { why: format!("{part} is written again"), after: None });
        }
        let dead: Vec<_> = parts.into_iter().map(|part| (part, Life::Ended)).collect();
        self.living = recorded(&dead);
        self.beat(true)
    }

    /// Whether there is something that the last round did not know.
    pub(crate) fn has_news(&mut self) -> bool {
        let parts = self.parts();
        let is_new = |part: &Part| part.is_process() && !self.complete.contains(part);
        parts.iter().any(is_new)
            || self.lives_of(&parts).iter().any(|(_, life)| *life == Life::Live)
    }

    /// The parts of the run; what may have more of them is told as unreadable.
    fn parts(&mut self) -> Vec<Part> {
        let found = parts::parts(&self.run, &self.whose);
        for (path, error) in &found.unreadable {
            self.note_unreadable(path, error);
        }
        self.seen.extend(found.parts.iter().cloned());
        let is_away = |part: &&Part| !self.complete.contains(part) && !found.parts.contains(part);
        if let Some(away) = self.seen.iter().find(is_away) {
            self.note_unreadable(&self.run.join(away.folder()), &ErrorKind::NotFound.into());
        }
        found.parts
    }

    fn files_of(&mut self, part: &Part) -> Files {
        let folder = self.run.join(part.folder());
        parts::files(&folder, part).unwrap_or_else(|error| {
            self.note_unreadable(&folder, &error);
            Files::default()
        })
    }

    /// Asks what the collector holds, where that is not known.
    fn ask(&mut self) -> Result<(), Refusal> {
        if self.held.is_some() {
            return Ok(());
        }
        let held = self.client.held()?;
        self.progress += 1;
        for (key, file) in &mut self.files {
            file.found(held.get(key).map_or(0, |held| held.length));
            // A collector that lost what it had gets it again.
            if file.backlog() > 0 {
                self.complete.remove(&key.0);
            }
        }
        let sums =
            held.iter().filter_map(|(key, held)| Some((key.clone(), held.checksum.clone()?)));
        self.whole = sums.collect();
        self.held = Some(held);
        Ok(())
    }

    /// Which of the parts may still be written.
    fn lives_of(&mut self, parts: &[Part]) -> Vec<(Part, Life)> {
        let mut lives: Vec<_> = parts.iter().map(|part| (part.clone(), self.life(part))).collect();
        if self.may_run_on.is_some() {
            // Where a process may run, its machine may be sampled.
            let ended =
                lives.iter_mut().filter(|(part, life)| part.is_machine() && *life == Life::Ended);
            ended.for_each(|(_, life)| *life = Life::Unknown);
        }
        lives
    }

    fn life(&mut self, part: &Part) -> Life {
        let folder = self.run.join(part.folder());
        let life = self.life_in(part, &folder);
        // Whose folder went away meanwhile has not been seen to end.
        if life == Life::Ended && !self.complete.contains(part) && !folder.is_dir() {
            self.note_unreadable(&folder, &ErrorKind::NotFound.into());
            return Life::Unknown;
        }
        life
    }

    fn life_in(&mut self, part: &Part, folder: &Path) -> Life {
        if part.is_machine() && hodo_trace::is_sampled(folder) {
            return Life::Live;
        }
        if !part.is_process() || self.complete.contains(part) {
            return Life::Ended;
        }
        let info = hodo_trace::process_info(folder);
        let catalog = self.files.get(&(part.clone(), CATALOG_FILE.to_owned()));
        let has_ended = catalog.is_some_and(Growing::has_ended);
        match self.lives.life(part, folder, info.as_ref(), has_ended) {
            Life::Unknown if has_end(&folder.join(CATALOG_FILE)) => Life::Ended,
            Life::Unknown => {
                self.may_run_on = info.map(|info| info.host);
                Life::Unknown
            }
            life => life,
        }
    }

    /// Ships a part; true when there is more to be shipped at once.
    fn part(
        &mut self,
        part: &Part,
        life: Life,
        tell: &mut dyn FnMut(&Round),
    ) -> Result<bool, Refusal> {
        let folder = self.run.join(part.folder());
        let Files { appended, descriptions, newest } = self.files_of(part);
        let has_ended = life == Life::Ended;
        let reach = match (has_ended, self.follows) {
            (true, _) => Reach::All,
            (false, true) => Reach::Settled,
            (false, false) => Reach::Frames,
        };
        // What says that the run is packed is nothing without all of its tables.
        if !part.is_packed() || self.has_sent_tables() {
            for name in descriptions {
                self.replace(part, &name)?;
            }
        }
        for (name, length) in &appended {
            self.look(part, name, &folder.join(name), *length, reach);
        }
        let mut more = false;
        for (name, _) in &appended {
            more |= self.append(part, name, &folder.join(name), tell)?;
        }
        if has_ended || self.is_time_for_newest(part) {
            for name in newest {
                self.replace(part, &name)?;
            }
        }
        if has_ended && part.is_process() && !more {
            more = self.arena(part, &folder, tell)?;
            if !more && self.unreadable.is_none() {
                self.complete.insert(part.clone());
            }
        }
        Ok(more)
    }

    fn has_sent_tables(&self) -> bool {
        let mut tables = self.files.iter().filter(|((part, _), _)| part.is_packed());
        let is_there = |file: &Growing| file.refused.is_none() && file.ready() == 0;
        self.unreadable.is_none() && tables.all(|(_, file)| is_there(file))
    }

    /// What a kill left of a process: its memory, which nobody changes any more.
    fn arena(
        &mut self,
        part: &Part,
        folder: &Path,
        tell: &mut dyn FnMut(&Round),
    ) -> Result<bool, Refusal> {
        let info = hodo_trace::process_info(folder).unwrap_or_default();
        let path = hodo_trace::arena_path(folder, &info);
        let about = match path.metadata() {
            Ok(about) if about.is_file() => about,
            Ok(_) => return Ok(false),
            Err(error) => {
                self.cannot_read(part, &path, &error);
                return Ok(false);
            }
        };
        let file = self.known(part, ARENA_FILE);
        file.look_at_all(about.len());
        self.append(part, ARENA_FILE, &path, tell)
    }

    pub(crate) fn known(&mut self, part: &Part, name: &str) -> &mut Growing {
        let key = (part.clone(), name.to_owned());
        let held = self.held.as_ref().and_then(|held| held.get(&key)).map_or(0, |held| held.length);
        self.files.entry(key).or_insert_with(|| Growing::new(held))
    }

    fn look(&mut self, part: &Part, name: &str, path: &Path, length: u64, reach: Reach) {
        let is_framed = !part.is_packed();
        let file = self.known(part, name);
        let looked = match is_framed {
            true => file.look(path, length, reach),
            false => {
                file.look_at_all(length);
                Ok(())
            }
        };
        if let Err(error) = looked {
            self.cannot_read(part, path, &error);
        }
    }

    /// Counts files that are gone and were not shipped whole. Where their folder is away they may come back.
    fn note_removed(&mut self) {
        let run = &self.run;
        let is_gone = |(part, name): &(Part, String), file: &Growing| {
            let path = parts::path(run, part, name);
            let is_missing = || path.try_exists().is_ok_and(|there| !there);
            // Looked at on both sides of its folder: that may come back between two looks.
            let is_removed = || is_missing() && run.join(part.folder()).is_dir() && is_missing();
            file.backlog() > 0 && name != ARENA_FILE && is_removed()
        };
        let gone: Vec<_> = self.files.iter().filter(|(key, file)| is_gone(key, file)).collect();
        self.removed_bytes += gone.iter().map(|(_, file)| file.backlog()).sum::<u64>();
        let gone: Vec<_> = gone.into_iter().map(|(key, _)| key.clone()).collect();
        gone.iter().for_each(|key| drop(self.files.remove(key)));
    }

    pub(crate) fn cannot_read(&mut self, part: &Part, path: &Path, error: &Error) {
        // One that was there a moment ago was removed at the size cap, if its folder is still there.
        let is_there = || self.run.join(part.folder()).is_dir();
        if error.kind() != ErrorKind::NotFound || !is_there() {
            self.note_unreadable(path, error);
        }
    }

    fn note_unreadable(&mut self, path: &Path, error: &Error) {
        self.unreadable.get_or_insert_with(|| format!("{}: {error}", path.display()));
    }

    /// Fills in what is known of the way so far.
    pub(crate) fn describe(&self, status: &mut Status) {
        status.server = self.client.url().to_owned();
        status.host = self.host.clone();
        status.acknowledged_bytes = self.files.values().map(|file| file.held).sum();
        status.backlog_bytes = self.files.values().map(Growing::backlog).sum();
        status.removed_bytes = self.removed_bytes;
        status.refused_files = self.refusals().count();
    }

    /// A local file that could not be read in the last round.
    pub(crate) fn unreadable(&self) -> Option<&str> {
        self.unreadable.as_deref()
    }

    /// Another host, on which a process may still record as far as is known here.
    pub(crate) fn may_run_on(&self) -> Option<&str> {
        self.may_run_on.as_deref()
    }

    /// The files that were refused, each with the reason.
    fn refusals(&self) -> impl Iterator<Item = (String, &str)> {
        let grown =
            self.files.iter().filter_map(|(key, file)| Some((key, file.refused.as_deref()?)));
        let whole = self.refused_whole.iter().map(|(key, why)| (key, why.as_str()));
        grown.chain(whole).map(|((part, name), why)| (format!("{part}/{name}"), why))
    }

    /// That some files were refused, as an error.
    pub(crate) fn refused(&self) -> Option<ShipError> {
        let (name, why) = self.refusals().next()?;
        Some(ShipError::Files { count: self.refusals().count(), first: format!("{name}: {why}") })
    }
}

/// What is known of those that something writes or wrote while a program ran: tables are not among them.
fn recorded(parts: &[(Part, Life)]) -> Vec<(Part, bool)> {
    let is_told = |(part, life): &&(Part, Life)| !part.is_packed() && *life != Life::Unknown;
    let told = parts.iter().filter(is_told);
    told.map(|(part, life)| (part.clone(), *life == Life::Live)).collect()
}

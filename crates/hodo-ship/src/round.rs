//! One round: everything that there is to ship now, once.

use crate::client::{AllHeld, Client, Refusal};
use crate::file::{Growing, Reach};
use crate::lives::Lives;
use crate::parts::{self, Files, Whose};
use crate::send::Beat;
use crate::{ShipError, Status};
use hodo_format::ship::{ARENA_FILE, CHUNK_BYTES, Part, RUN_FILE};
use std::collections::{BTreeMap, HashMap, HashSet};
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
    /// Processes that have ended and are shipped.
    complete: HashSet<Part>,
    lives: Lives,
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
        follows: bool,
    ) -> Round {
        Round {
            run: run.to_owned(),
            client,
            whose,
            lives: Lives::new(host.clone()),
            host,
            follows,
            held: None,
            files: BTreeMap::new(),
            whole: HashMap::new(),
            refused_whole: BTreeMap::new(),
            newest_at: HashMap::new(),
            complete: HashSet::new(),
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
        for part in parts::parts(&self.run, &self.whose) {
            for (name, length) in parts::files(&self.run.join(part.folder()), &part).appended {
                self.known(&part, &name).waits(length);
            }
        }
    }

    /// Ships what there is.
    pub(crate) fn go(&mut self, tell: &mut dyn FnMut(&Round)) -> Result<Rest, Refusal> {
        self.ask()?;
        self.unreadable = None;
        let parts = parts::parts(&self.run, &self.whose);
        let lives = self.lives_of(&parts);
        let live = lives.iter().any(|(_, live)| *live);
        self.living = recorded(&lives);
        self.beat(false)?;
        self.replace(&Part::RUN, RUN_FILE)?;
        let mut more = false;
        for (part, live) in &lives {
            if !self.complete.contains(part) {
                more |= self.part(part, *live, tell)?;
            }
        }
        self.note_removed();
        tell(self);
        Ok(Rest { more, live })
    }

    /// Tells the collector that this is all, if it is.
    pub(crate) fn finish(&mut self) -> Result<(), Refusal> {
        let parts = parts::parts(&self.run, &self.whose);
        let dead: Vec<_> = parts.into_iter().map(|part| (part, false)).collect();
        self.living = recorded(&dead);
        self.beat(true)
    }

    /// Whether there is something that the last round did not know.
    pub(crate) fn has_news(&mut self) -> bool {
        let parts = parts::parts(&self.run, &self.whose);
        let is_new = |part: &Part| part.is_process() && !self.complete.contains(part);
        parts.iter().any(is_new) || self.lives_of(&parts).iter().any(|(_, live)| *live)
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
    fn lives_of(&mut self, parts: &[Part]) -> Vec<(Part, bool)> {
        parts.iter().map(|part| (part.clone(), self.is_live(part))).collect()
    }

    fn is_live(&mut self, part: &Part) -> bool {
        let folder = self.run.join(part.folder());
        if part.is_machine() {
            return hodo_trace::is_sampled(&folder);
        }
        if !part.is_process() || self.complete.contains(part) {
            return false;
        }
        let info = hodo_trace::process_info(&folder);
        let catalog = self.files.get(&(part.clone(), "catalog.hodo".to_owned()));
        let has_ended = catalog.is_some_and(Growing::has_ended);
        self.lives.is_live(part, &folder, info.as_ref(), has_ended)
    }

    /// Ships a part; true when there is more to be shipped at once.
    fn part(
        &mut self,
        part: &Part,
        live: bool,
        tell: &mut dyn FnMut(&Round),
    ) -> Result<bool, Refusal> {
        let folder = self.run.join(part.folder());
        let Files { appended, descriptions, newest } = parts::files(&folder, part);
        let reach = match (live, self.follows) {
            (false, _) => Reach::All,
            (true, true) => Reach::Settled,
            (true, false) => Reach::Frames,
        };
        for name in descriptions {
            self.replace(part, &name)?;
        }
        for (name, length) in &appended {
            self.look(part, name, &folder.join(name), *length, reach);
        }
        let mut more = false;
        for (name, _) in &appended {
            more |= self.append(part, name, &folder.join(name), tell)?;
        }
        if !live || self.is_time_for_newest(part) {
            for name in newest {
                self.replace(part, &name)?;
            }
        }
        if !live && part.is_process() && !more {
            more = self.arena(part, &folder, tell)?;
            if !more && self.unreadable.is_none() {
                self.complete.insert(part.clone());
            }
        }
        Ok(more)
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
        let Ok(about) = path.metadata() else { return Ok(false) };
        if !about.is_file() {
            return Ok(false);
        }
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
            self.cannot_read(path, &error);
        }
    }

    /// Counts files that are gone and were not shipped whole.
    fn note_removed(&mut self) {
        let run = &self.run;
        let is_gone = |(part, name): &(Part, String), file: &Growing| {
            file.backlog() > 0 && name != ARENA_FILE && !parts::path(run, part, name).exists()
        };
        let gone: Vec<_> = self.files.iter().filter(|(key, file)| is_gone(key, file)).collect();
        self.removed_bytes += gone.iter().map(|(_, file)| file.backlog()).sum::<u64>();
        let gone: Vec<_> = gone.into_iter().map(|(key, _)| key.clone()).collect();
        gone.iter().for_each(|key| drop(self.files.remove(key)));
    }

    pub(crate) fn cannot_read(&mut self, path: &Path, error: &std::io::Error) {
        // One that was there a moment ago was removed at the size cap.
        if error.kind() != std::io::ErrorKind::NotFound {
            self.unreadable.get_or_insert_with(|| format!("{}: {error}", path.display()));
        }
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

/// Those that something writes or wrote while a program ran: tables are not among them.
fn recorded(parts: &[(Part, bool)]) -> Vec<(Part, bool)> {
    parts.iter().filter(|(part, _)| !part.is_packed()).cloned().collect()
}

//! The way of a run to its collector, with its delays.

use crate::client::{self, Client, Refusal, Server};
use crate::lock::{self, Lock, Taken};
use crate::pace::Pace;
use crate::parts::{self, Whose};
use crate::round::{Rest, Round};
use crate::status::{StatusFile, file_name, now_ns, status_of};
use crate::{ShipError, State, Status, secrets};
use hodo_record::binding::{host, random};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often a run is looked at while it grows.
const LOOK: Duration = Duration::from_millis(250);

/// How long to ship.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Until the processes of this host have ended and all of them is there.
    Follow,
    /// What is there now, of this host.
    Once,
    /// What is there now, whoever wrote it, tables of a packed run too.
    Everything,
}

/// What to ship, and where to.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The run's folder.
    pub run: PathBuf,
    /// The collector.
    pub server: Server,
    /// How long to ship.
    pub mode: Mode,
    /// How long the collector may take nothing before it is given up.
    pub give_up_after: Duration,
    /// Whether processes of other hosts are known to have ended where their files do not say so.
    pub others_ended: bool,
}

/// Who looks on.
pub struct Watch<'a> {
    /// Told how far it is, again and again.
    pub progress: &'a dyn Fn(&Status),
    /// Whether more may come even though no process lives: a launcher is still at work.
    pub is_expecting: &'a dyn Fn() -> bool,
}

/// How it went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shipped {
    /// Bytes that were sent this time.
    pub sent_bytes: u64,
    /// Something of the run was still being written.
    pub is_live: bool,
    /// Another process ships this run from this host; nothing was done.
    pub by_another: Option<u32>,
    /// Bytes that the recorder removed before they were shipped.
    pub removed_bytes: u64,
    /// Another host, on which a process of the run may still record: nothing here tells.
    pub may_run_on: Option<String>,
}

/// Ships a run.
pub fn ship(settings: &Settings, watch: &Watch<'_>) -> Result<Shipped, ShipError> {
    let id = settings.run.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let client = Client::new(&settings.server, &id)?;
    let whose = match settings.mode {
        Mode::Everything => Whose::All,
        Mode::Follow | Mode::Once => Whose::Host(host()),
    };
    let follows = settings.mode == Mode::Follow;
    let how = (follows, settings.others_ended);
    let round = Round::new(&settings.run, client, whose, host(), how);
    let Some(lock) = take(&settings.run).map_err(|why| ShipError::Folder {
        folder: settings.run.clone(),
        why: format!("cannot be locked: {why}"),
    })?
    else {
        let by_another = Some(holder(&settings.run));
        return Ok(Shipped { by_another, ..Shipped::default() });
    };
    let mut shipper = Shipper {
        settings,
        watch,
        round,
        pace: Pace::new(random()),
        status: Status { all_hosts: settings.mode == Mode::Everything, ..own_status() },
        file: StatusFile::new(&settings.run),
    };
    let ended = shipper.go(lock);
    shipper.close(ended)
}

/// Says in the run's folder that it is not shipped, and why: for a shipper that nobody looks on and that
/// could not even begin.
pub fn refuse(run: &Path, server: &str, why: &str) {
    // Whoever has the lock is at work, and tells of that.
    let Ok(Some(_lock)) = take(run) else { return };
    let own = own_status();
    let is_told = |told: Status| (told.pid, told.pid_space) == (own.pid, own.pid_space.clone());
    if status_of(run).is_some_and(is_told) || is_all_there(run, server) {
        return;
    }
    let mut status = Status {
        server: secrets::shown(server),
        host: host(),
        state: State::Stopped,
        error: Some(secrets::shown(why)),
        since_ns: Some(now_ns()),
        ..own
    };
    StatusFile::new(run).tell_now(&mut status);
}

fn own_status() -> Status {
    let (pid, pid_space) = (std::process::id(), hodo_trace::pid_space());
    Status { pid, pid_space, ..Status::default() }
}

/// Whether all of the run is known to be at `server`, and nothing has come since.
pub fn is_all_there(run: &Path, server: &str) -> bool {
    let Ok((url, _)) = client::address(server) else { return false };
    let Some(told) = status_of(run).filter(|told| told.state == State::Done) else { return false };
    let whose = if told.all_hosts { Whose::All } else { Whose::Host(host()) };
    told.server == url
        && parts::bytes(run, &whose).is_some_and(|bytes| bytes <= told.acknowledged_bytes)
}

fn take(run: &Path) -> std::io::Result<Option<Lock>> {
    Ok(match lock::take(run, &file_name("lock"))? {
        Taken::Ours(lock) => Some(lock),
        Taken::Theirs(_) => None,
    })
}

fn holder(run: &Path) -> u32 {
    match lock::take(run, &file_name("lock")) {
        Ok(Taken::Theirs(pid)) => pid,
        _ => 0,
    }
}

struct Shipper<'a> {
    settings: &'a Settings,
    watch: &'a Watch<'a>,
    round: Round,
    pace: Pace,
    status: Status,
    file: StatusFile,
}

impl Shipper<'_> {
    fn go(&mut self, lock: Lock) -> Result<bool, ShipError> {
        let mut lock = lock;
        loop {
            let is_live = self.until_all_is_there(&lock)?;
            drop(lock);
            // A process that began meanwhile found the lock taken, and left it to this shipper.
            if is_live || self.settings.mode != Mode::Follow || !self.round.has_news() {
                return Ok(is_live);
            }
            match take(&self.settings.run) {
                Ok(Some(again)) => lock = again,
                _ => return Ok(false),
            }
        }
    }

    /// Rounds until everything is there; true when something is still being written.
    fn until_all_is_there(&mut self, lock: &Lock) -> Result<bool, ShipError> {
        loop {
            let expecting = (self.watch.is_expecting)();
            match self.round() {
                Ok(Rest { more: true, .. }) => {}
                Ok(Rest { live, .. }) if self.settings.mode != Mode::Follow => {
                    if let Some(why) = self.round.unreadable() {
                        return Err(ShipError::Unreadable(why.to_owned()));
                    }
                    if live || self.round.may_run_on().is_some() {
                        return Ok(true);
                    }
                    if self.finish()? {
                        return Ok(false);
                    }
                }
                Ok(Rest { live: false, .. }) if !expecting => {
                    if let Some(why) = self.round.unreadable().map(str::to_owned) {
                        self.wait_to_read(why, lock)?;
                        continue;
                    }
                    if self.finish()? {
                        return Ok(false);
                    }
                }
                Ok(_) => std::thread::sleep(LOOK),
                Err(refusal) => self.wait(refusal)?,
            }
        }
    }

    fn round(&mut self) -> Result<Rest, Refusal> {
        let (status, file, watch) = (&mut self.status, &mut self.file, self.watch);
        let before = self.round.progress;
        let mut tell = |round: &Round| {
            round.describe(status);
            if round.progress > before {
                (status.state, status.since_ns) = (State::Shipping, None);
                status.error = round.unreadable().map(str::to_owned);
            }
            file.tell(status);
            (watch.progress)(status);
        };
        let sent = self.round.sent;
        let rest = self.round.go(&mut tell);
        // An answer alone is none: a full collector says what it has, and takes nothing.
        let is_well = rest.is_ok() && self.round.unreadable().is_none();
        if is_well || self.round.sent > sent {
            self.pace.reset();
        }
        rest
    }

    /// The last word; false when there is more to be shipped first, or it was not heard and waited for.
    fn finish(&mut self) -> Result<bool, ShipError> {
        // What began since the last round is shipped before the collector hears that this is all.
        if self.round.has_news() {
            return Ok(false);
        }
        // A collector that hears it packs the run, without what it refused.
        if self.round.refused().is_some() {
            return Ok(true);
        }
        match self.round.finish() {
            Ok(()) => Ok(true),
            Err(refusal) => self.wait(refusal).map(|()| false),
        }
    }

    /// Waits after a refusal, unless waiting does not mend it or has taken too long.
    fn wait(&mut self, refusal: Refusal) -> Result<(), ShipError> {
        let (why, after) = match refusal {
            Refusal::Run(error) => return Err(error),
            Refusal::Later { why, after } => (why, after),
            Refusal::Length { why, .. } | Refusal::File(why) | Refusal::Garbled(why) => (why, None),
            Refusal::TooLong => ("too long for the collector".to_owned(), None),
        };
        self.round.forget_held();
        self.round.survey();
        let wait = self.pace.wait(after);
        let waited = self.pace.waited();
        self.status.since_ns.get_or_insert_with(now_ns);
        self.status.state = State::Waiting;
        self.status.error = Some(why.clone());
        self.round.describe(&mut self.status);
        if !self.is_known_there() {
            self.file.tell(&mut self.status);
        }
        (self.watch.progress)(&self.status);
        if waited >= self.settings.give_up_after {
            return Err(ShipError::GaveUp { waited, why });
        }
        std::thread::sleep(wait.min(self.settings.give_up_after - waited));
        Ok(())
    }

    /// Waits for a file of a run that has ended and cannot be read, as long as for a collector. A run that
    /// was deleted does not come back, nor what was packed: its tables are another shipper's to begin with.
    fn wait_to_read(&mut self, why: String, lock: &Lock) -> Result<(), ShipError> {
        let run = &self.settings.run;
        if lock.is_deleted() && !run.is_dir() || hodo_trace::packed::is_packed(run) {
            return Err(ShipError::Unreadable(why));
        }
        let later = Refusal::Later { why: why.clone(), after: None };
        self.wait(later).map_err(|_| ShipError::Unreadable(why))
    }

    /// Whether all of it is there by what was told before, and the collector has not said otherwise: a
    /// question that it refuses or does not hear changes nothing of that.
    fn is_known_there(&self) -> bool {
        self.round.progress == 0 && is_all_there(&self.settings.run, &self.settings.server.url)
    }

    fn close(mut self, ended: Result<bool, ShipError>) -> Result<Shipped, ShipError> {
        let ended = match (ended, self.round.refused()) {
            (Ok(_), Some(refused)) => Err(refused),
            (ended, _) => ended,
        };
        self.round.describe(&mut self.status);
        self.status.state = match &ended {
            Ok(false) => State::Done,
            _ => State::Stopped,
        };
        self.status.error = ended.as_ref().err().map(ToString::to_string);
        if self.status.error.is_some() {
            self.status.since_ns.get_or_insert_with(now_ns);
        }
        // Of a run that is followed more may come, which nobody ships now.
        if ended.is_ok() || self.settings.mode == Mode::Follow || !self.is_known_there() {
            self.file.tell_now(&mut self.status);
        }
        let (sent_bytes, removed_bytes) = (self.round.sent, self.status.removed_bytes);
        let may_run_on = self.round.may_run_on().map(str::to_owned);
        let shipped =
            |is_live| Shipped { sent_bytes, is_live, by_another: None, removed_bytes, may_run_on };
        ended.map(shipped)
    }
}

//! Reads and writes: one step of a sampler at a time, by a clock that is given.

use super::Settings;
use crate::host::{self, Root};
use crate::sampler::Sampler;
use crate::state::{self, Standing, Status, Writer};
use crate::store::{Refused, Store};
use crate::table::Absent;
use crate::tier::{Readers, Tier};
use hodo_record::binding::Scopes;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

/// How often one that may not write, or cannot, tries again.
const TRY_NS: u64 = 1_000_000_000;
/// How often it is looked whether a scope is open.
const LOOK: Duration = Duration::from_millis(50);
/// A descriptor that is none.
const NONE: i32 = -1;

/// The descriptor of the lock that is held, for a child of a fork that did not wait. It is taken back
/// before the lock is let go: by then it may be another file's.
#[derive(Clone, Debug)]
pub struct LockDescriptor(Arc<AtomicI32>);

impl Default for LockDescriptor {
    fn default() -> LockDescriptor {
        LockDescriptor(Arc::new(AtomicI32::new(NONE)))
    }
}

impl LockDescriptor {
    /// What there is to close now.
    pub fn get(&self) -> Option<i32> {
        Some(self.0.load(Ordering::Acquire)).filter(|descriptor| *descriptor != NONE)
    }

    fn tell(&self, store: Option<&Store>) {
        let descriptor = store.and_then(Store::lock_descriptor);
        self.0.store(descriptor.unwrap_or(NONE), Ordering::Release);
    }
}

/// A sampler with its store.
pub struct Keeper {
    settings: Settings,
    writer: Writer,
    sampler: Sampler,
    store: Option<Store>,
    lock_descriptor: LockDescriptor,
    standing: Standing,
    tried_at: Option<u64>,
    /// It has waited for one that let go for a fork.
    has_waited: bool,
    /// The store was let go for a fork.
    let_go: bool,
    /// A store whose folder has gone, with rows for the next one.
    gone: Option<Store>,
    lost_rows: u64,
    scopes: Option<Scopes>,
    was_active: bool,
    told: Told,
}

impl Drop for Keeper {
    /// However it ends, abandoned or by a panic too: what is dropped next closes the descriptor.
    fn drop(&mut self) {
        self.lock_descriptor.tell(None);
    }
}

/// What readers say of themselves; a change of it is written at once.
type Told = (Vec<Absent>, Vec<(&'static str, String)>);

impl Keeper {
    /// A keeper that has read and opened nothing yet.
    pub fn new(settings: Settings, readers: Readers) -> Keeper {
        let host = host::describe(&Root::default());
        let only_in_scopes = settings.scopes.is_some();
        Keeper {
            writer: Writer { kind: settings.kind, only_in_scopes, host },
            sampler: Sampler::new(settings.interval, readers),
            settings,
            store: None,
            lock_descriptor: LockDescriptor::default(),
            standing: Standing::Starting,
            tried_at: None,
            has_waited: false,
            let_go: false,
            gone: None,
            lost_rows: 0,
            scopes: None,
            was_active: false,
            told: Told::default(),
        }
    }

    /// Does what is due; says when to come again.
    pub fn step(&mut self, clock: &dyn Fn() -> u64, held: bool) -> u64 {
        let now = clock();
        self.ensure_store(now);
        let writes = self.store.is_some();
        let active = self.is_active(held);
        if writes || self.settings.reads_while_linked {
            self.read(clock, now, active);
        }
        // Rows of a folder that is gone name the series they were read for.
        if !writes && self.gone.is_none() {
            self.sampler.retire_sometimes(now);
        }
        if writes {
            self.standing = if active { Standing::Sampling } else { Standing::Idle };
            self.keep(clock());
        }
        self.next_ns(now, active)
    }

    fn next_ns(&self, now: u64, active: bool) -> u64 {
        let interval = self.sampler.interval();
        let looks = if self.settings.scopes.is_some() { interval.min(LOOK) } else { interval };
        let reads = self.store.is_some() || self.settings.reads_while_linked;
        // One that only reads meanwhile looks as often whether it may write.
        let looks =
            if self.store.is_none() { looks.min(Duration::from_nanos(TRY_NS)) } else { looks };
        match self.sampler.next_ns() {
            _ if !reads => now + TRY_NS,
            Some(next) if active => next.min(now + looks.as_nanos() as u64).max(now),
            _ => now + looks.as_nanos() as u64,
        }
    }

    /// Whether rounds are to be read: always, unless only inside scopes, and then also where scopes
    /// came and went since the last look.
    fn is_active(&mut self, held: bool) -> bool {
        let Some(scopes) = self.settings.scopes.filter(|_| !held) else { return true };
        let now = scopes();
        let before = self.scopes.replace(now);
        now.is_open || before.is_some_and(|before| now.begun != before.begun)
    }

    fn read(&mut self, clock: &dyn Fn() -> u64, now: u64, active: bool) {
        let was_active = std::mem::replace(&mut self.was_active, active);
        match (was_active, active) {
            (true, true) => {
                if self.sampler.next_ns().is_none_or(|next| now >= next) {
                    self.sampler.round(clock);
                } else {
                    self.sampler.forget_rows();
                }
            }
            (false, true) => {
                self.sampler.rest();
                self.sampler.round(clock);
            }
            (true, false) => {
                self.sampler.round_between(clock);
                self.sampler.rest();
            }
            (false, false) => self.sampler.forget_rows(),
        }
    }

    /// Writes what the last round read.
    fn keep(&mut self, now: u64) {
        let Keeper { store, writer, told, .. } = self;
        let Some(store) = store else { return };
        self.sampler.charge(|sampler| {
            let mut has_slow = false;
            for row in sampler.rows() {
                store.keep(&row, sampler.series());
                has_slow |= row.tier >= Tier::Medium;
            }
            let said = has_slow.then(|| (sampler.absent(), sampler.told()));
            let changed = said.filter(|said| said != told);
            let tell = changed.is_some();
            let written = store.write(now, tell, &|kept| state::json(writer, sampler, kept));
            if written.contains(&true) {
                let tiers = Tier::ALL.into_iter().filter(|tier| written[*tier as usize]);
                tiers.for_each(|tier| sampler.retire(tier));
                store.forget_series(sampler.series());
            }
            *told = changed.unwrap_or_else(|| std::mem::take(told));
        });
    }

    /// Opens the store, takes it back after a fork, or opens it anew where its folder has gone.
    fn ensure_store(&mut self, now: u64) {
        if self.let_go && self.is_time_to_try(now) {
            self.take_back();
            return;
        }
        let in_place = self.store.as_mut().is_none_or(|store| store.is_in_place(now));
        if self.store.is_some() && in_place || !self.is_time_to_try(now) {
            return;
        }
        // One that lives and let go does so for a fork, and goes on in a moment: a child that is forked
        // for a moment does not take its place.
        if !std::mem::replace(&mut self.has_waited, true)
            && let Some(holder) = Store::let_go_by(&self.settings.run)
        {
            return self.follow(Refused::Held(holder));
        }
        self.gone = self.store.take().or_else(|| self.gone.take());
        match Store::open(&self.settings.run, self.settings.kind.word(), self.settings.limits) {
            Ok(mut store) => {
                self.lock_descriptor.tell(Some(&store));
                if let Some(gone) = self.gone.take() {
                    gone.moved_to(&mut store);
                }
                store.lost(std::mem::take(&mut self.lost_rows));
                self.lead(store);
            }
            Err(refused) => {
                if let Some(gone) = self.gone.take_if(|_| matches!(refused, Refused::Held(_))) {
                    // Another writes here from now on, and older rows have no place among its own.
                    self.lock_descriptor.tell(None);
                    self.lost_rows += gone.waiting_rows();
                }
                self.follow(refused);
            }
        }
    }

    fn is_time_to_try(&mut self, now: u64) -> bool {
        let is_time = self.tried_at.is_none_or(|at| now.saturating_sub(at) >= TRY_NS);
        if is_time {
            self.tried_at = Some(now);
        }
        is_time
    }

    fn take_back(&mut self) {
        self.let_go = false;
        let Some(mut store) = self.store.take() else { return };
        match store.take_back() {
            Ok(true) => self.lead(store),
            // Another has led meanwhile and taken over what was left.
            Ok(false) => self.tried_at = None,
            Err(refused) => self.follow(refused),
        }
    }

    fn lead(&mut self, store: Store) {
        self.lock_descriptor.tell(Some(&store));
        self.store = Some(store);
        self.sampler.rest();
        self.was_active = false;
    }

    fn follow(&mut self, refused: Refused) {
        self.standing = match refused {
            Refused::Held(holder) => Standing::Linked(holder),
            Refused::Failed(error) => Standing::Failed(format!(
                "cannot write to {}: {error}",
                self.settings.run.display()
            )),
        };
    }

    /// The program is about to fork, and another may sample until this one goes on.
    pub fn let_go(&mut self) {
        self.lock_descriptor.tell(None);
        if let Some(store) = &mut self.store {
            store.let_go();
            self.let_go = true;
        }
        self.tried_at = None;
        self.sampler.rest();
        self.was_active = false;
        self.standing = Standing::Paused;
    }

    /// Writes what is left, after a last round of readings, and lets go for good.
    pub fn finish(&mut self, clock: &dyn Fn() -> u64) {
        if self.was_active && self.store.is_some() {
            self.sampler.round_between(clock);
            self.keep(clock());
        }
        self.lock_descriptor.tell(None);
        if let Some(mut store) = self.store.take().filter(|_| !self.let_go) {
            let Keeper { sampler, writer, .. } = self;
            store.finish(clock(), &|kept| state::json(writer, sampler, kept));
        }
        self.standing = Standing::Off;
    }

    /// Tells the lock's descriptor there from now on.
    pub(super) fn tell_lock(&mut self, to: &LockDescriptor) {
        self.lock_descriptor = to.clone();
        self.lock_descriptor.tell(self.store.as_ref());
    }

    /// Whether the newest values are wanted.
    pub fn keeps_newest(&self) -> bool {
        self.settings.keeps_newest
    }

    /// The sampler.
    pub fn sampler(&self) -> &Sampler {
        &self.sampler
    }

    /// Where it stands.
    pub fn status(&self) -> Status {
        Status {
            standing: self.standing.clone(),
            interval: self.sampler.interval(),
            only_in_scopes: self.writer.only_in_scopes,
            cost: self.sampler.cost(),
            absent: self.sampler.absent(),
            kept: self.store.as_ref().map(|store| store.kept().clone()).unwrap_or_default(),
            folder: self.store.as_ref().map(|store| store.folder().to_owned()),
        }
    }
}

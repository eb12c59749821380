//! Runs that have ended become Parquet tables, one at a time and behind all else.

use super::Inside;
use super::depot::{Entry, lock, part_key};
use super::janitor::guarded;
use super::note::{Note, PackedFile, Swap};
use super::remove::now;
use super::silence::{is_live, is_quiet, silent_for};
use super::tries::Tries;
use crate::memory;
use hodo_convert::parquet;
use hodo_format::ship::Kind;
use hodo_trace::packed::{self, Fingerprint};
use hodo_trace::{Process, ProcessState, ReadOptions, Run, Shipped};
use std::io;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// What was shipped of a run that was packed when its hosts had fallen silent is kept so long: a
/// shipper gives up after a day without its collector.
const ASIDE_TIME: Duration = Duration::from_secs(36 * 3600);

/// Packing takes this much memory for a byte of a run's files, of which some are packed already.
const FILE_BYTE_BYTES: u64 = 4;
/// Why a run is not packed now.
#[derive(Debug)]
pub enum NotPacked {
    /// There is nothing to pack, or more may come.
    NotYet,
    /// More came while it was packed; it is packed later.
    Grew,
    /// The collector did not survive that some times, and waits so long.
    Wait(u32, Duration),
    /// It cannot be read whole, so what was shipped stays as the evidence.
    Damaged(String),
    /// Something else.
    Failed(String),
}

impl std::fmt::Display for NotPacked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            NotPacked::NotYet => "it has not ended",
            NotPacked::Grew => "more of it came",
            NotPacked::Damaged(why) | NotPacked::Failed(why) => why,
            NotPacked::Wait(tries, _) => {
                return write!(
                    f,
                    "the collector ended {tries} times while it did that, most likely for want of \
                     memory; it is tried again later"
                );
            }
        })
    }
}

impl From<io::Error> for NotPacked {
    fn from(error: io::Error) -> NotPacked {
        NotPacked::Failed(error.to_string())
    }
}

/// Packs a run if it has ended.
pub fn pack_if_ended(inside: &Inside, run: &str, quiet_after: Duration) -> Result<(), NotPacked> {
    let depot = &inside.depot;
    let (entry, folder) = (depot.entry(run)?, depot.folder(run));
    depot.settle(&entry)?;
    let is_here = |note: &Note| !note.is_away && !note.is_going;
    let note = entry.note().filter(is_here).ok_or(NotPacked::NotYet)?;
    let shipped = Shipped::read(&folder).ok_or(NotPacked::NotYet)?;
    let is_over = || shipped.is_done() || is_quiet(inside, run, quiet_after);
    if is_live(inside, run) || !is_over() || !Run::is_at(&folder) {
        return Err(NotPacked::NotYet);
    }
    let changes = entry.changes();
    let files = files(inside, &entry, &note, shipped.is_done())?;
    if files == note.packed {
        return Err(NotPacked::NotYet);
    }
    if note.is_packed {
        pack_anew(inside, &entry, shipped.is_done())?;
    }
    check_memory(needed_bytes(inside, run), memory::room(), ", and `hodo pack` does it elsewhere")?;
    begin_try(inside, &entry)?;
    let made = guarded(|| make(inside, run));
    end_try(inside, &entry)?;
    let _alone = entry.alone();
    let is_open = made.inspect_err(|_| clear_packing(inside, run))?;
    if entry.changes() != changes
        || !entry.note().as_ref().is_some_and(is_here)
        || Shipped::read(&folder).is_some_and(|now| now.hosts != shipped.hosts)
            && is_live(inside, run)
    {
        clear_packing(inside, run);
        return Err(NotPacked::Grew);
    }
    let swap = Swap { inode: 0, packed: files, more_may_come: is_open || !shipped.is_done() };
    depot.put_in_place(&entry, swap)?;
    inside.counters.packed.fetch_add(1, Ordering::Relaxed);
    Ok(())
}

/// More came after a run was packed. As long as all that was shipped is there, it is packed from
/// that; else what is packed and what came are packed together, once nothing more can come.
fn pack_anew(inside: &Inside, entry: &Entry, is_done: bool) -> Result<(), NotPacked> {
    if inside.depot.aside(&entry.id).exists() {
        let _alone = entry.alone();
        inside.depot.give_back(entry)?;
        return Err(NotPacked::NotYet);
    }
    if is_done || silent_for(inside, &entry.id) > ASIDE_TIME {
        Ok(())
    } else {
        Err(NotPacked::NotYet)
    }
}

/// The files a run was shipped as: those that were packed before, and those in its folder.
fn files(
    inside: &Inside,
    entry: &Entry,
    note: &Note,
    is_done: bool,
) -> Result<Vec<PackedFile>, NotPacked> {
    let folder = inside.depot.folder(&entry.id);
    if !note.is_packed && packed::is_packed(&folder) {
        // It was pushed as it is.
        return Err(NotPacked::NotYet);
    }
    let mut files = note.packed.clone();
    for (part, name, kind) in inside.depot.there(&entry.id, note.is_packed)? {
        let path = folder.join(part.folder()).join(&name);
        let (length, crc32c) = match kind {
            Kind::Replaced => {
                let bytes = std::fs::read(&path)?;
                (bytes.len() as u64, Some(hodo_format::ship::checksum(&bytes)))
            }
            // Who said that all was shipped was told that all of it is on disk.
            Kind::Appended if is_done => (path.metadata()?.len(), None),
            Kind::Appended => (inside.depot.durable_length(entry, &part, &name)?, None),
        };
        let part = part_key(&part);
        files.retain(|file: &PackedFile| (&file.part, &file.name) != (&part, &name));
        files.push(PackedFile { part, name, length, crc32c });
    }
    Ok(files)
}

/// What packing a run takes of memory, at the most.
fn needed_bytes(inside: &Inside, run: &str) -> u64 {
    let files = inside.depot.usage.of(run).saturating_mul(FILE_BYTE_BYTES);
    hodo_trace::memory_bytes(&inside.depot.folder(run)).max(files)
}

/// Refuses what may not fit: a collector that runs out of memory ends for all.
pub fn check_memory(needed: u64, room: Option<u64>, besides: &str) -> Result<(), NotPacked> {
    match room {
        Some(room) if needed > room => Err(NotPacked::Failed(format!(
            "that may take {} MiB of memory, and there is room for {} MiB; it is tried again \
             later{besides}",
            needed >> 20,
            room >> 20
        ))),
        _ => Ok(()),
    }
}

/// Writes down that packing begins, so that a collector which does not survive it knows.
fn begin_try(inside: &Inside, entry: &Entry) -> Result<(), NotPacked> {
    let Some(note) = entry.note() else { return Err(NotPacked::NotYet) };
    let (tries, wait) = tries_of(&note).begin(now().as_secs());
    if wait.is_none() {
        *lock(&inside.packing) = Some(entry.id.clone());
    }
    set_tries(inside, entry, tries)?;
    wait.map_or(Ok(()), |left| Err(NotPacked::Wait(tries.count, left)))
}

fn tries_of(note: &Note) -> Tries {
    Tries { count: note.pack_tries, next_s: note.pack_next_s }
}

/// It was survived.
fn end_try(inside: &Inside, entry: &Entry) -> io::Result<()> {
    *lock(&inside.packing) = None;
    set_tries(inside, entry, Tries::default())
}

/// A collector that is told to end while it packs a run has not died of it.
pub fn forgive(inside: &Inside) -> io::Result<()> {
    let Some(run) = lock(&inside.packing).take() else { return Ok(()) };
    let entry = inside.depot.entry(&run)?;
    let note = entry.note().unwrap_or_default();
    set_tries(inside, &entry, tries_of(&note).forgiven())
}

fn set_tries(inside: &Inside, entry: &Entry, tries: Tries) -> io::Result<()> {
    let _alone = entry.alone();
    match entry.note() {
        Some(note) if tries_of(&note) != tries => {
            let (pack_tries, pack_next_s) = (tries.count, tries.next_s);
            inside.depot.write_note(entry, Note { pack_tries, pack_next_s, ..note })
        }
        _ => Ok(()),
    }
}

/// What was made of a run and is of no use.
fn clear_packing(inside: &Inside, run: &str) {
    // What cannot be removed is at the next start.
    let _ = std::fs::remove_dir_all(inside.depot.packing(run));
}

/// Writes the packed run beside the store's runs, and reads it back; true when a process of it may
/// still run, whatever its shipper said.
fn make(inside: &Inside, run: &str) -> Result<bool, NotPacked> {
    let failed = |error: String| NotPacked::Failed(error);
    let (folder, to) = (inside.depot.folder(run), inside.depot.packing(run));
    let options = ReadOptions::default();
    let read = Run::open(&folder, &options).map_err(|error| failed(error.to_string()))?;
    if let Some(bytes) = read.unreadable_bytes() {
        let what = if bytes > 0 { format!("{bytes} bytes") } else { "some frames".to_owned() };
        return Err(NotPacked::Damaged(format!("{what} of it cannot be read")));
    }
    let is_open = read.processes.iter().any(is_open);
    match std::fs::remove_dir_all(&to) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    let written = parquet::write_known(&read, &to, &|_, _| {});
    let (_, made_of) = written.map_err(|error| failed(error.to_string()))?;
    drop(read);
    let again = Run::open(&to, &options).map_err(|error| failed(error.to_string()))?;
    match made_of.difference(&Fingerprint::of(&again)) {
        None => Ok(is_open),
        Some(what) => {
            Err(failed(format!("it does not read back as it was written: {what} differs")))
        }
    }
}

/// Whether nothing in the files of a process says that it has ended: neither its last record, nor the
/// memory that a kill leaves.
fn is_open(process: &Process) -> bool {
    let arena = hodo_trace::arena_path(&process.folder, &process.info);
    process.state != ProcessState::Finished && !arena.exists()
}

/// Writes down why a run is not packed.
pub fn note_failure(inside: &Inside, entry: &Entry, why: &str) -> io::Result<()> {
    let _alone = entry.alone();
    match entry.note() {
        Some(note) if note.pack_failure.as_deref() != Some(why) => {
            let pack_failure = Some(why.to_owned());
            inside.depot.write_note(entry, Note { pack_failure, ..note })
        }
        _ => Ok(()),
    }
}

/// Lets go of what was shipped of runs that were packed long ago and not heard of since: a process that
/// is told to run may record more at any time, and it was not long ago because the clock was set.
pub fn clear_old(inside: &Inside, run: &str) -> io::Result<()> {
    let entry = inside.depot.entry(run)?;
    let is_old = |note: &Note| {
        let age = now().saturating_sub(Duration::from_secs(note.packed_s));
        let is_kept = note.is_packed && !note.is_going && !note.is_between();
        is_kept && age >= ASIDE_TIME && silent_for(inside, run) >= ASIDE_TIME
    };
    let is_due = || entry.note().as_ref().is_some_and(is_old) && inside.depot.aside(run).exists();
    if !is_due() {
        return Ok(());
    }
    let _alone = entry.alone();
    // More may have come meanwhile, and what is aside be the packed run that made place for it.
    if is_due() {
        inside.depot.clear_aside(run)?;
        inside.depot.count(&entry);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collect::beat::Beat;
    use crate::collect::testing::{Folder, SENDER, inside, send};
    use crate::collect::tries::{MOST_TRIES, wait_after};
    use hodo_format::ship::SHIPPED_FILE;
    use std::sync::Arc;

    #[test]
    fn a_run_that_does_not_fit_into_memory_is_left_as_it_was_shipped() {
        assert!(check_memory(100 << 20, Some(100 << 20), "").is_ok());
        assert!(check_memory(1, None, "").is_ok());
        let refused = check_memory(300 << 20, Some(100 << 20), "").map_err(|why| why.to_string());
        assert!(refused.is_err_and(|why| why.contains("300 MiB") && why.contains("100 MiB")));
    }

    /// A run that was packed long ago, with what was shipped of it aside.
    fn packed_long_ago(folder: &Folder) -> io::Result<Arc<Inside>> {
        let here = inside(folder.path(), None);
        send(&here, "run", "p1-a", b"spans");
        let entry = here.depot.entry("run")?;
        let note = entry.note().unwrap_or_default();
        here.depot.write_note(&entry, Note { is_packed: true, packed_s: 1, ..note })?;
        std::fs::create_dir(here.depot.aside("run"))?;
        let told = serde_json::to_vec(&Shipped { begun_ns: 1, ..Shipped::default() })?;
        std::fs::write(here.depot.folder("run").join(SHIPPED_FILE), told)?;
        drop((entry, here));
        // Nothing was heard of it since the start.
        Ok(inside(folder.path(), None))
    }

    #[test]
    fn what_is_aside_stays_while_a_process_is_told_to_run() -> io::Result<()> {
        let folder = Folder::new();
        let here = packed_long_ago(&folder)?;
        let beat = Beat::parse(br#"{"host":"a","processes":[{"part":"p1-a","live":true}]}"#);
        assert!(beat.is_ok_and(|beat| here.depot.tell("run", SENDER, beat).is_ok()));
        clear_old(&here, "run")?;
        assert!(here.depot.aside("run").exists(), "it may record more, which would be refused");
        // Nor does it go where the clock was set since, by which it was told long ago.
        let told = serde_json::to_vec(&Shipped { begun_ns: 1, ..Shipped::default() })?;
        std::fs::write(here.depot.folder("run").join(SHIPPED_FILE), told)?;
        clear_old(&here, "run")?;
        assert!(here.depot.aside("run").exists());
        drop(here);
        let here = inside(folder.path(), None);
        clear_old(&here, "run")?;
        assert!(!here.depot.aside("run").exists(), "nothing was heard of it for long");
        Ok(())
    }

    #[test]
    fn what_is_aside_is_looked_at_again_before_it_goes() -> io::Result<()> {
        let folder = Folder::new();
        let here = packed_long_ago(&folder)?;
        let entry = here.depot.entry("run")?;
        let note = Note { is_packed: false, packed_s: 0, ..entry.note().unwrap_or_default() };
        std::thread::scope(|scope| {
            let alone = entry.alone();
            let clearing = scope.spawn(|| clear_old(&here, "run"));
            // It has looked, and waits; or it looks later, which is right as well.
            std::thread::sleep(Duration::from_millis(200));
            here.depot.write_note(&entry, note)?;
            drop(alone);
            clearing.join().unwrap_or_else(|_| Err(io::Error::other("a panic")))
        })?;
        assert!(here.depot.aside("run").exists(), "it is another now");
        Ok(())
    }

    #[test]
    fn a_run_that_a_collector_did_not_survive_is_tried_less_and_less_often() -> io::Result<()> {
        let folder = Folder::new();
        for start in 0..MOST_TRIES {
            let here = inside(folder.path(), None);
            send(&here, "run", "p1-a", b"spans");
            let entry = here.depot.entry("run")?;
            assert!(begin_try(&here, &entry).is_ok(), "start {start}");
        }
        let here = inside(folder.path(), None);
        let entry = here.depot.entry("run")?;
        let why = begin_try(&here, &entry).map_err(|why| why.to_string());
        assert!(why.is_err_and(|why| why.contains("ended 3 times")));
        set_tries(&here, &entry, Tries { count: MOST_TRIES, next_s: 1 })?;
        assert!(begin_try(&here, &entry).is_ok(), "its time has come");
        assert!(begin_try(&here, &entry).is_err());
        // Whoever is told to end has not died of it.
        forgive(&here)?;
        assert_eq!(entry.note().map(|note| note.pack_tries), Some(MOST_TRIES));
        end_try(&here, &entry)?;
        assert!(begin_try(&here, &entry).is_ok());
        assert_eq!([3, 4, 5, 30].map(|tries| wait_after(tries).as_secs()), [1, 2, 4, 24 * 3600]);
        Ok(())
    }
}

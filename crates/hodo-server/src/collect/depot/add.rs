//! What shippers add to a run: pieces of files, whole files, and that they are alive.

use super::late::{packed_length, packed_whole};
use super::usage::of_file;
use super::{Depot, Entry, Known, forbid, lock};
use crate::collect::beat::Beat;
use crate::collect::durable;
use crate::collect::note::Note;
use crate::collect::refusal::Refusal;
use hodo_format::ship::{self, Part};
use hodo_trace::Shipped;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Who adds something to a run.
#[derive(Clone, Copy, Debug)]
pub struct Sender<'a> {
    /// Id of the token that sends it; none for one that may write to any run.
    pub owner: Option<&'a str>,
    /// Bytes that the runs of that token may take.
    pub most_bytes: Option<u64>,
}

/// A file that is sent.
pub struct Target<'a> {
    /// The run.
    pub run: &'a str,
    /// The folder in it.
    pub part: &'a Part,
    /// The file's name.
    pub name: &'a str,
    /// Who sends it.
    pub sender: Sender<'a>,
}

impl Depot {
    /// Appends `bytes` at `offset`; returns the length that is durable then.
    pub fn append(&self, target: &Target<'_>, offset: u64, bytes: &[u8]) -> Result<u64, Refusal> {
        let end = offset
            .checked_add(bytes.len() as u64)
            .ok_or_else(|| Refusal::bad("no file is as long as this offset"))?;
        let path = self.place(target);
        let is_packed = |entry: &Entry| packed_length(entry, target, &path, (offset, bytes));
        self.add(target, &is_packed, |file| {
            let mut known = lock(&file.known);
            let length = known.durable_length(&file.path)?;
            if offset > length {
                let words = format!("{} has {length} bytes, not {offset} yet", target.name);
                return Err(Refusal::conflict(words, length));
            }
            let repeated = (length - offset).min(bytes.len() as u64) as usize;
            let (held, new) = bytes.split_at(repeated);
            if !known.fits(&file.path, offset, held)? || !known.fits(&file.path, length, new)? {
                let words = format!("{} has other bytes at {offset} than these", target.name);
                return Err(Refusal::conflict(words, length));
            }
            if new.is_empty() && file.path.exists() {
                return Ok(length);
            }
            let change = |there| (0, appended(there, length, new));
            file.grows(change, || known.append(&file.path, length, new))?;
            Ok(end)
        })
    }

    /// Replaces a file; returns its length.
    pub fn replace(&self, target: &Target<'_>, bytes: &[u8]) -> Result<u64, Refusal> {
        let path = self.place(target);
        let is_packed = |entry: &Entry| packed_whole(entry, target, &path, bytes);
        self.add(target, &is_packed, |file| {
            let mut known = lock(&file.known);
            let after = bytes.len() as u64;
            file.grows(
                |there| (of_file(there), of_file(Some(after))),
                || {
                    *known = Known::default();
                    durable::replace(&file.path, bytes)?;
                    *known = Known { length: Some(after), crc32c: Some(ship::checksum(bytes)) };
                    Ok(())
                },
            )?;
            Ok(after)
        })
    }

    /// Keeps what a shipper told of a run, durably; returns the bytes that took.
    pub fn tell(&self, run: &str, sender: Sender<'_>, beat: Beat) -> Result<u64, Refusal> {
        self.with(run, sender, |entry, folder| {
            let _turn = lock(&entry.telling);
            let owner = entry.owner();
            let room = |more| self.usage.make_sure(run, &owner, sender.most_bytes, more);
            let (host, has_life) = (beat.host().to_owned(), beat.tells_of_life());
            let kept = beat.keep(folder, room);
            // Who is known and has no room for more lives all the same, also after a start.
            // Not so who tells that all has ended: only then may its run make room.
            let is_known =
                || Shipped::read(folder).is_some_and(|told| told.hosts.contains_key(&host));
            if kept.is_ok() || has_life && is_known() {
                entry.told(host, has_life);
            }
            let (before, after) = kept?;
            self.usage.exchange(run, &owner, before, after);
            Ok(after)
        })
    }

    /// Adds to a file, unless `is_packed` says that it was packed with what is sent.
    fn add(
        &self,
        target: &Target<'_>,
        is_packed: &dyn Fn(&Entry) -> Result<Option<u64>, Refusal>,
        work: impl FnOnce(&Open<'_>) -> Result<u64, Refusal>,
    ) -> Result<u64, Refusal> {
        if let Some(entry) = self.known(target.run)? {
            self.settle(&entry)?;
            let note = entry.note();
            note.map_or(Ok(()), |note| forbid(&note, target.run, target.sender.owner))?;
            // What was shipped and tables that somebody else made of it do not belong together.
            let is_more = || !target.part.is_packed() && is_packed(&entry).is_err();
            self.welcome_back(&entry, is_more)?;
        }
        self.with(target.run, target.sender, |entry, _| {
            if let Some(length) = is_packed(entry)? {
                return Ok(length);
            }
            let part = target.part.to_string();
            let known = entry.file(&part, target.name);
            let (path, folders) = (self.place(target), self.folders(target));
            let most_bytes = target.sender.most_bytes;
            let open = Open { depot: self, entry, known, path, folders, most_bytes };
            // Names of files that are not taken are not kept either.
            work(&open).inspect_err(|_| {
                if !open.path.exists() {
                    entry.forget_file(&part, target.name);
                }
            })
        })
    }

    /// Does `work` on a run that `sender` may write to and that is begun where it is new. It is
    /// neither packed nor removed meanwhile.
    fn with<T>(
        &self,
        run: &str,
        sender: Sender<'_>,
        work: impl FnOnce(&Entry, &Path) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let entry = self.entry(run)?;
        self.settle(&entry)?;
        let _open = entry.shared();
        self.begin(&entry, sender)?;
        work(&entry, &self.folder(run))
    }

    /// Begins a run that is new, and refuses one that is another's. The gate is held.
    fn begin(&self, entry: &Entry, sender: Sender<'_>) -> Result<(), Refusal> {
        let run = &entry.id;
        let mut note = lock(&entry.note);
        if let Some(known) = &*note {
            forbid(known, run, sender.owner)?;
            return match known.is_going {
                false => Ok(self.mark_shipped(run)?),
                true => Err(Refusal::later(format!("{run} is being removed; come back"), 5)),
            };
        }
        let owner = sender.owner.unwrap_or_default();
        let begun = serde_json::to_vec(&Shipped::begun()).map_err(io::Error::from)?;
        let bytes = of_file(Some(begun.len() as u64));
        self.usage.make_sure(run, owner, sender.most_bytes, bytes)?;
        let begun = Note::new(owner);
        begun.write(&self.note_path(run))?;
        self.mark_shipped(run)?;
        self.usage.exchange(run, owner, 0, bytes);
        *note = Some(begun);
        Ok(())
    }

    /// Makes sure that a run is known to be shipped, which keeps readers from what its files name
    /// elsewhere on this machine: a kill may have come between its note and this.
    pub(super) fn mark_shipped(&self, run: &str) -> io::Result<()> {
        let path = self.folder(run).join(ship::SHIPPED_FILE);
        if path.try_exists()? {
            return Ok(());
        }
        durable::make_folder(&self.folder(run))?;
        durable::replace(&path, &serde_json::to_vec(&Shipped::begun())?)
    }

    /// Takes what was shipped of a packed run back where more of it came and it is still there.
    fn welcome_back(&self, entry: &Entry, is_more: impl Fn() -> bool) -> io::Result<()> {
        // Of a run that is being removed, what is aside is on its way out.
        let is_kept = || entry.note().is_some_and(|note| note.is_packed && !note.is_going);
        let is_due = || is_kept() && is_more() && self.aside(&entry.id).exists();
        if !is_due() {
            return Ok(());
        }
        let _alone = entry.alone();
        // Someone else may have done it meanwhile.
        if is_due() { self.give_back(entry) } else { Ok(()) }
    }

    /// Where a file lies, if it is there.
    fn place(&self, target: &Target<'_>) -> PathBuf {
        self.folder(target.run).join(target.part.folder()).join(target.name)
    }

    /// The folders between that of the run and a file.
    fn folders(&self, target: &Target<'_>) -> Vec<PathBuf> {
        let mut folder = self.folder(target.run);
        let steps = target.part.folder();
        let into = |step: std::path::Component<'_>| {
            folder.push(step);
            folder.clone()
        };
        steps.components().map(into).collect()
    }
}

/// What a file takes more with `new` at `length`, of which it may have some: after a start not all of it is
/// believed. Zeros become holes.
fn appended(there: Option<u64>, length: u64, new: &[u8]) -> u64 {
    let Some(there) = there else { return of_file(Some(durable::written_bytes(new, length))) };
    let known = there.saturating_sub(length).min(new.len() as u64);
    durable::written_bytes(&new[known as usize..], length + known)
}

/// A file that is being added to.
struct Open<'a> {
    depot: &'a Depot,
    entry: &'a Entry,
    known: Arc<Mutex<Known>>,
    path: PathBuf,
    /// Those between the run's folder and the file.
    folders: Vec<PathBuf>,
    most_bytes: Option<u64>,
}

impl Open<'_> {
    /// Has `write` add to it if there is room; `change` tells what it takes before and after, by its length
    /// if it is there.
    fn grows(
        &self,
        change: impl FnOnce(Option<u64>) -> (u64, u64),
        write: impl FnOnce() -> io::Result<()>,
    ) -> Result<(), Refusal> {
        let (usage, owner) = (&self.depot.usage, self.entry.owner());
        let (before, after) = change(self.path.metadata().ok().map(|file| file.len()));
        let new = self.folders.iter().filter(|folder| !folder.exists()).count() as u64;
        let after = after + new * of_file(Some(0));
        usage.make_sure(&self.entry.id, &owner, self.most_bytes, after.saturating_sub(before))?;
        for folder in &self.folders {
            durable::make_folder(folder)?;
        }
        write()?;
        usage.exchange(&self.entry.id, &owner, before, after);
        self.entry.changed();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collect::testing::{Folder, SENDER};

    const MOST: u64 = 1 << 20;
    const ARENA_CHUNKS: u64 = 16;

    fn refused(refusal: Refusal) -> io::Error {
        io::Error::other(format!("{refusal:?}"))
    }

    /// A chunk of the memory that a program left behind: a page of it was written.
    fn chunk() -> Vec<u8> {
        let mut chunk = vec![0; ship::CHUNK_BYTES];
        chunk[9000] = 1;
        chunk
    }

    fn append(depot: &Depot, run: &str, offset: u64, bytes: &[u8]) -> io::Result<u64> {
        let part = Part::parse("p1-a").ok_or_else(|| io::Error::other("no part"))?;
        let target = Target { run, part: &part, name: "arena", sender: SENDER };
        depot.append(&target, offset, bytes).map_err(refused)
    }

    fn append_arena(depot: &Depot, run: &str) -> io::Result<()> {
        (0..ARENA_CHUNKS).try_for_each(|at| {
            append(depot, run, at * ship::CHUNK_BYTES as u64, &chunk()).map(drop)
        })
    }

    #[test]
    fn memory_that_is_mostly_empty_takes_what_is_in_it_also_after_a_start() -> io::Result<()> {
        let folder = Folder::new();
        let depot = Depot::open(folder.path(), Some(MOST))?;
        for run in ["a", "b", "c", "d", "e"] {
            append_arena(&depot, run)?;
        }
        let counted = depot.usage.total();
        assert!(counted > 5 * ARENA_CHUNKS * 4096 && counted < MOST / 2, "{counted}");
        drop(depot);
        let depot = Depot::open(folder.path(), Some(MOST))?;
        // The disk may need a block more for a file to know where its holes are.
        let apart = depot.usage.total().abs_diff(counted);
        assert!(apart <= 5 * 4096, "{apart}");
        // After a start the last chunk is not believed, and comes once more.
        let counted = depot.usage.total();
        let last = (ARENA_CHUNKS - 1) * ship::CHUNK_BYTES as u64;
        append(&depot, "a", last, &chunk())?;
        assert_eq!(depot.usage.total(), counted);
        append(&depot, "a", last + ship::CHUNK_BYTES as u64, &chunk())?;
        assert_eq!(depot.usage.total(), counted + 4096);
        for run in ["a", "b", "c", "d", "e"] {
            depot.clear(run)?;
            depot.forget(&*depot.entry(run)?)?;
        }
        assert_eq!(depot.usage.total(), 0);
        Ok(())
    }

    #[test]
    fn a_full_depot_takes_zeros_and_nothing_else() -> io::Result<()> {
        let folder = Folder::new();
        append(&Depot::open(folder.path(), None)?, "run", 0, b"first")?;
        let depot = Depot::open(folder.path(), Some(1))?;
        let zeros = vec![0; ship::CHUNK_BYTES];
        let end = append(&depot, "run", 0, b"first")?;
        let end = append(&depot, "run", end, &zeros)?;
        assert!(append(&depot, "run", end, &[1; 10]).is_err());
        assert_eq!(append(&depot, "run", end, &zeros)?, end + zeros.len() as u64);
        Ok(())
    }
}

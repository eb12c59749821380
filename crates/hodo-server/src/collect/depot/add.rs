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
            file.grows(|before| before.max(end), || known.append(&file.path, length, new))?;
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
                |_| after,
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
            let room = |more| self.usage.make_sure(&owner, sender.most_bytes, more);
            let (host, has_life) = (beat.host().to_owned(), beat.tells_of_life());
            let kept = beat.keep(folder, room);
            // Who is known and has no room for more lives all the same, also after a start.
            // Not so who tells that all has ended: only then may its run make room.
            let is_known =
                || Shipped::read(folder).is_some_and(|told| told.hosts.contains_key(&host));
            if kept.is_ok() || has_life && is_known() {
                entry.told(host);
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
        self.usage.make_sure(owner, sender.most_bytes, bytes)?;
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
    /// Has `write` make it as long as `after` says, from what it is, if there is room.
    fn grows(
        &self,
        after: impl FnOnce(u64) -> u64,
        write: impl FnOnce() -> io::Result<()>,
    ) -> Result<(), Refusal> {
        let (usage, owner) = (&self.depot.usage, self.entry.owner());
        let before = self.path.metadata().ok().map(|file| file.len());
        let new = self.folders.iter().filter(|folder| !folder.exists()).count() as u64;
        let after = of_file(Some(after(before.unwrap_or(0)))) + new * of_file(Some(0));
        let before = of_file(before);
        usage.make_sure(&owner, self.most_bytes, after.saturating_sub(before))?;
        for folder in &self.folders {
            durable::make_folder(folder)?;
        }
        write()?;
        usage.exchange(&self.entry.id, &owner, before, after);
        self.entry.changed();
        Ok(())
    }
}

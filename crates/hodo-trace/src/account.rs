use hodo_format::arena::{Counts, Loss};
use serde::ser::{SerializeMap, SerializeStruct};
use serde::{Serialize, Serializer};
use std::path::PathBuf;

/// Where every record of a process went: `produced = stored + in_ring + lost + unexplained`.
///
/// Nothing says of which sort unexplained records were, so `produced` leaves them out where the
/// recorder itself did not count them; [`Account::produced_records`] has them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Account {
    /// Records the process made.
    #[serde(serialize_with = "counts")]
    pub produced: Counts,
    /// Records read from the spool.
    #[serde(serialize_with = "counts")]
    pub stored: Counts,
    /// Records read from the arena that the spool does not hold.
    #[serde(serialize_with = "counts")]
    pub in_ring: Counts,
    /// Records the recorder counted as lost, by [`Loss`].
    #[serde(serialize_with = "by_reason")]
    pub lost: [Counts; Loss::COUNT],
    /// Records neither read nor counted as lost: damage.
    pub unexplained: u64,
    /// Records that came while a live run was being read and were left out.
    pub newer: u64,
    /// Scopes not recorded because they were too deep.
    pub depth_dropped: u64,
}

impl Account {
    /// Records the process made, of any sort.
    pub fn produced_records(&self) -> u64 {
        self.stored.records() + self.in_ring.records() + self.lost_records() + self.unexplained
    }

    /// Records lost for any counted reason.
    pub fn lost_records(&self) -> u64 {
        self.lost_counts().records()
    }

    /// The same by sort.
    pub fn lost_counts(&self) -> Counts {
        let mut all = Counts::default();
        self.lost.iter().for_each(|lost| all += *lost);
        all
    }

    /// Takes records out that were read once and cannot be read any more.
    pub(crate) fn lose(&mut self, gone: Counts) {
        let kinds: [fn(&mut Counts) -> &mut u64; 3] =
            [|c| &mut c.spans, |c| &mut c.marks, |c| &mut c.attrs];
        for kind in kinds {
            let mut left = *kind(&mut { gone });
            for part in [&mut self.stored, &mut self.in_ring] {
                let taken = left.min(*kind(part));
                *kind(part) -= taken;
                left -= taken;
                self.unexplained += taken;
            }
        }
    }

    /// Whether every record the process made was read.
    pub fn is_complete(&self) -> bool {
        self.lost_records() == 0 && self.unexplained == 0
    }
}

impl std::ops::AddAssign<&Account> for Account {
    fn add_assign(&mut self, other: &Account) {
        self.produced += other.produced;
        self.stored += other.stored;
        self.in_ring += other.in_ring;
        self.lost.iter_mut().zip(other.lost).for_each(|(to, from)| *to += from);
        self.unexplained += other.unexplained;
        self.newer += other.newer;
        self.depth_dropped += other.depth_dropped;
    }
}

/// Counts past this are damage: no process makes that many records.
pub(crate) const MAX_COUNT: u64 = 1 << 48;

/// `counts`, or none where damage made them impossible; sums of possible ones do not overflow.
pub(crate) fn possible(counts: Counts) -> Counts {
    let most = counts.spans.max(counts.marks).max(counts.attrs);
    if most > MAX_COUNT { Counts::default() } else { counts }
}

pub(crate) fn counts<S: Serializer>(counts: &Counts, to: S) -> Result<S::Ok, S::Error> {
    let mut fields = to.serialize_struct("Counts", 3)?;
    fields.serialize_field("spans", &counts.spans)?;
    fields.serialize_field("marks", &counts.marks)?;
    fields.serialize_field("attrs", &counts.attrs)?;
    fields.end()
}

pub(crate) fn by_reason<S: Serializer>(
    lost: &[Counts; Loss::COUNT],
    to: S,
) -> Result<S::Ok, S::Error> {
    struct Plain<'a>(&'a Counts);
    impl Serialize for Plain<'_> {
        fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
            counts(self.0, to)
        }
    }
    let mut map = to.serialize_map(Some(Loss::COUNT))?;
    for (reason, lost) in Loss::ALL.iter().zip(lost) {
        map.serialize_entry(reason.name(), &Plain(lost))?;
    }
    map.end()
}

/// What could not be read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Damage {
    /// Bytes skipped.
    pub bytes: u64,
    /// Spool frames that are missing or unreadable.
    pub frames: u64,
    /// The first few places, for a person to look at.
    pub places: Vec<Place>,
}

impl Damage {
    /// Places kept; the counts go on.
    pub const MAX_PLACES: usize = 16;

    /// Whether everything was readable.
    pub fn is_none(&self) -> bool {
        self.bytes == 0 && self.frames == 0 && self.places.is_empty()
    }

    /// Adds what was wrong with other files, whose frames are counted apart.
    pub(crate) fn join(&mut self, other: Damage, frames: u64) {
        self.bytes += other.bytes;
        self.frames += frames;
        for place in other.places {
            self.note(place.file, place.offset, place.why);
        }
    }

    /// Notes a place, if there is still room.
    pub(crate) fn note(&mut self, file: PathBuf, offset: u64, why: impl Into<String>) {
        if self.places.len() < Self::MAX_PLACES {
            self.places.push(Place { file, offset, why: why.into() });
        }
    }
}

/// One damaged place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Place {
    /// The file.
    pub file: PathBuf,
    /// Byte where the trouble begins.
    pub offset: u64,
    /// What is wrong there.
    pub why: String,
}

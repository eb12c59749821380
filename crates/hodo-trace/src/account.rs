use hodo_format::arena::{Counts, Loss};
use std::path::PathBuf;

/// Where every record of a process went: `produced = stored + in_ring + lost + unexplained`.
///
/// Nothing says of which sort unexplained records were, so `produced` leaves them out where the
/// recorder itself did not count them; [`Account::produced_records`] has them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Records the process made.
    pub produced: Counts,
    /// Records read from the spool.
    pub stored: Counts,
    /// Records read from the arena that the spool does not hold.
    pub in_ring: Counts,
    /// Records the recorder counted as lost, by [`Loss`].
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
        let read = self.stored.records() + self.in_ring.records();
        read.saturating_add(self.lost_records()).saturating_add(self.unexplained)
    }

    /// Records lost for any counted reason.
    pub fn lost_records(&self) -> u64 {
        let add = |sum: u64, l: &Counts| {
            sum.saturating_add(l.spans).saturating_add(l.marks).saturating_add(l.attrs)
        };
        self.lost.iter().fold(0, add)
    }

    /// Whether every record the process made was read.
    pub fn is_complete(&self) -> bool {
        self.lost_records() == 0 && self.unexplained == 0
    }
}

/// What could not be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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

    /// Notes a place, if there is still room.
    pub(crate) fn note(&mut self, file: PathBuf, offset: u64, why: impl Into<String>) {
        if self.places.len() < Self::MAX_PLACES {
            self.places.push(Place { file, offset, why: why.into() });
        }
    }
}

/// One damaged place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub file: PathBuf,
    /// Byte where the trouble begins.
    pub offset: u64,
    /// What is wrong there.
    pub why: String,
}

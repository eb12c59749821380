//! The names of one frame, as the encoder numbers them.

use super::trail::NameState;
use super::varint::Column;
use std::collections::HashMap;

/// Name ids below this find their code by index; ids are handed out from 0 up, so nearly all do.
const DIRECT_NAMES: usize = 1 << 16;

/// Small codes for the names of one frame, in order of appearance, and their last spans.
#[derive(Default)]
pub(super) struct Names {
    /// Code and generation by name id.
    direct: Vec<(u32, u32)>,
    /// Codes of ids that are too large for `direct`.
    far: HashMap<u32, u32>,
    states: Vec<NameState>,
    generation: u32,
}

impl Names {
    pub(super) fn clear(&mut self) {
        self.states.clear();
        self.far.clear();
        self.generation = self.generation.wrapping_add(1);
        if self.generation == 0 {
            self.direct.clear();
        }
    }

    /// The code and state of a name; a new one is written to `ids`.
    #[inline]
    pub(super) fn of(&mut self, id: u32, ids: &mut Column) -> (u32, &mut NameState) {
        let known = match self.direct.get(id as usize) {
            Some(&(code, generation)) if generation == self.generation => Some(code),
            _ => self.far.get(&id).copied(),
        };
        let code = known.filter(|&code| (code as usize) < self.states.len());
        let code = code.unwrap_or_else(|| self.add(id, ids));
        (code, &mut self.states[code as usize])
    }

    #[cold]
    fn add(&mut self, id: u32, ids: &mut Column) -> u32 {
        let code = self.states.len() as u32;
        self.states.push(NameState::default());
        ids.unsigned(u64::from(id));
        let at = id as usize;
        if at < DIRECT_NAMES {
            if at >= self.direct.len() {
                self.direct.resize((at + 1).next_power_of_two(), (u32::MAX, 0));
            }
            self.direct[at] = (code, self.generation);
        } else {
            self.far.insert(id, code);
        }
        code
    }
}

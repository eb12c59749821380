//! The names of ranges: texts that come by address and may be others each time.

use super::{guarded, raw, torch};
use hodo_record::is_on;
use std::ffi::c_char;

/// Longest text a thread remembers; longer ones are asked for each time.
const LONGEST: usize = 256;
const PLACES: usize = 256;
const NEAR: usize = 64;

/// A text and its name in the recorder.
struct Place {
    /// Ends in a NUL.
    text: Box<[u8]>,
    name: u32,
}

impl Place {
    fn holds(&self, text: &[u8]) -> bool {
        self.text.split_last().is_some_and(|(_, own)| own == text)
    }
}

/// Texts that a thread used lately. A text is found by what is in it: the same address may hold
/// another one next time, so it only says where to look first.
pub struct Names {
    places: Vec<Option<Place>>,
    /// Where the text was that was last found at such an address.
    near: [u8; NEAR],
    /// What a message said besides its name; whoever asked for the name takes it.
    pub numbers: Option<torch::Numbers>,
}

const _: () = assert!(PLACES == 1 << u8::BITS);

impl Names {
    /// None known.
    pub const fn new() -> Names {
        Names { places: Vec::new(), near: [0; NEAR], numbers: None }
    }

    /// The name of the text at an address; 0 while no recorder is on.
    ///
    /// # Safety
    /// The text ends in a NUL, or the address is null.
    #[inline(always)]
    pub unsafe fn at(&mut self, text: *const c_char) -> u32 {
        let near = spread(text.addr() as u64) as usize % NEAR;
        if let Some(Some(place)) = self.places.get(usize::from(self.near[near]))
            && !text.is_null()
        {
            // SAFETY: both end in a NUL.
            if unsafe { libc::strcmp(place.text.as_ptr().cast(), text) } == 0 {
                return place.name;
            }
        }
        // SAFETY: by the contract.
        self.look(unsafe { raw::bytes(text) }, Some(near))
    }

    /// The name of a text; 0 while no recorder is on.
    pub fn of(&mut self, text: &[u8]) -> u32 {
        self.look(text, None)
    }

    #[inline(never)]
    fn look(&mut self, text: &[u8], near: Option<usize>) -> u32 {
        let at = hash(text) as usize % PLACES;
        let known = self.places.get(at).and_then(Option::as_ref).filter(|p| p.holds(text));
        match known {
            Some(place) => {
                if let Some(near) = near {
                    self.near[near] = at as u8;
                }
                place.name
            }
            None => guarded(0, || self.ask(text, at)),
        }
    }

    #[cold]
    fn ask(&mut self, text: &[u8], at: usize) -> u32 {
        if !is_on() {
            return 0;
        }
        if let Some((name, numbers)) = torch::split(text) {
            self.numbers = Some(numbers);
            return self.look(name, None);
        }
        let shown = if text.is_empty() { super::NO_MESSAGE.as_bytes() } else { text };
        let name = hodo_record::intern(&String::from_utf8_lossy(shown));
        if text.len() <= LONGEST && name != 0 {
            self.places.resize_with(PLACES, || None);
            self.places[at] = Some(Place { text: [text, b"\0"].concat().into(), name });
        }
        name
    }
}

fn spread(word: u64) -> u64 {
    word.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32
}

/// Spreads texts over the places.
fn hash(text: &[u8]) -> u64 {
    let (words, rest) = text.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let words = words.iter().chain([&last]).map(|word| u64::from_le_bytes(*word));
    words.fold(text.len() as u64, |hash, word| spread(hash.rotate_left(5) ^ word) ^ hash << 7)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbered_texts_are_spread() {
        for texts in [
            (0..PLACES).map(|i| format!("transformer.layers.{i}.attention")).collect::<Vec<_>>(),
            (0..PLACES).map(|i| format!("{i}")).collect(),
        ] {
            let mut used: Vec<u64> =
                texts.iter().map(|t| hash(t.as_bytes()) % PLACES as u64).collect();
            used.sort_unstable();
            used.dedup();
            assert!(used.len() > PLACES / 2, "{}", used.len());
        }
    }

    #[test]
    fn a_place_holds_its_text_and_no_other() {
        let place = Place { text: (*b"abc\0").into(), name: 1 };
        assert!(place.holds(b"abc"));
        assert!(!place.holds(b"ab") && !place.holds(b"abc\0") && !place.holds(b""));
    }
}

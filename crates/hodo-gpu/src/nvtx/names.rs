//! The names of ranges: texts that come by address and may be others each time.

use hodo_record::is_on;

/// Longest text a thread remembers; longer ones are asked for each time.
const LONGEST: usize = 256;
const PLACES: usize = 256;

struct Place {
    text: Box<[u8]>,
    name: u32,
}

/// Texts that a thread used lately, with their names in the recorder. A text is found by what is
/// in it: the same address may hold another one next time.
#[derive(Default)]
pub struct Names {
    places: Vec<Option<Place>>,
}

impl Names {
    /// None known.
    pub const fn new() -> Names {
        Names { places: Vec::new() }
    }

    /// The name of a text; 0 while no recorder is on.
    #[inline(always)]
    pub fn of(&mut self, text: &[u8]) -> u32 {
        let at = hash(text) as usize % PLACES;
        match self.places.get(at) {
            Some(Some(place)) if *place.text == *text => place.name,
            _ => self.ask(text, at),
        }
    }

    #[cold]
    #[inline(never)]
    fn ask(&mut self, text: &[u8], at: usize) -> u32 {
        if !is_on() {
            return 0;
        }
        let shown = if text.is_empty() { super::NO_MESSAGE.as_bytes() } else { text };
        let name = hodo_record::intern(&String::from_utf8_lossy(shown));
        if text.len() <= LONGEST && name != 0 {
            self.places.resize_with(PLACES, || None);
            self.places[at] = Some(Place { text: text.into(), name });
        }
        name
    }
}

/// Spreads texts over the places.
#[inline(always)]
fn hash(text: &[u8]) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut hash = text.len() as u64;
    let mut add = |word: u64| hash = (hash.rotate_left(5) ^ word).wrapping_mul(ODD);
    let (words, rest) = text.as_chunks::<8>();
    words.iter().for_each(|word| add(u64::from_le_bytes(*word)));
    let mut last = 0;
    for (i, byte) in rest.iter().enumerate() {
        last |= u64::from(*byte) << (8 * i);
    }
    add(last);
    hash >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbered_texts_are_spread() {
        let texts = (0..PLACES).map(|i| format!("transformer.layers.{i}.attention"));
        let mut used: Vec<u64> = texts.map(|t| hash(t.as_bytes()) % PLACES as u64).collect();
        used.sort_unstable();
        used.dedup();
        assert!(used.len() > PLACES / 2, "{}", used.len());
    }
}

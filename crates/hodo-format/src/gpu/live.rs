//! The page `gpu.live`: what the callbacks counted, kept where a kill does not reach.

/// What the callbacks of a process counted. A page of [`Live::BYTES`] holds the magic, the version
/// and then these numbers, each a little-endian word of 8 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Live {
    /// Kernels launched one by one.
    pub kernels: u64,
    /// Graphs launched.
    pub graphs: u64,
    /// Copies asked for.
    pub copies: u64,
    /// Sets asked for.
    pub sets: u64,
    /// Of the kernels: those that were captured into a graph, so did not run.
    pub captured: u64,
    /// Of the kernels: those that the driver refused.
    pub refused: u64,
    /// Records of kernels that came and belong to no graph.
    pub stored_kernels: u64,
    /// Records of any work that were stored.
    pub stored: u64,
    /// Of the copies and sets: those that were captured into a graph.
    pub captured_others: u64,
    /// Of the copies and sets: those that the driver refused.
    pub refused_others: u64,
}

impl Live {
    /// Name of the file.
    pub const FILE: &'static str = "gpu.live";
    /// Its size.
    pub const BYTES: usize = 4096;
    /// The first word.
    pub const MAGIC: u64 = u64::from_le_bytes(*b"hodo.gpu");
    /// The second word.
    pub const VERSION: u64 = 1;

    /// The page in `bytes`; none when it is no such page, not whole yet, or of a version that this
    /// one does not know.
    pub fn parse(bytes: &[u8]) -> Option<Live> {
        let mut words = bytes.as_chunks().0.iter().copied().map(u64::from_le_bytes);
        if words.next()? != Live::MAGIC || words.next()? != Live::VERSION {
            return None;
        }
        let mut next = || words.next();
        Some(Live {
            kernels: next()?,
            graphs: next()?,
            copies: next()?,
            sets: next()?,
            captured: next()?,
            refused: next()?,
            stored_kernels: next()?,
            stored: next()?,
            captured_others: next()?,
            refused_others: next()?,
        })
    }

    /// Kernels that were launched one by one and not into a graph, and that the driver took.
    pub fn launched_kernels(&self) -> u64 {
        self.kernels.saturating_sub(self.captured.saturating_add(self.refused))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_stand_in_their_order() {
        let words = [Live::MAGIC, Live::VERSION, 10, 2, 3, 4, 5, 1, 3, 8, 9, 7];
        let mut page: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        page.resize(Live::BYTES, 0);
        let live = Live::parse(&page).expect("a page");
        assert_eq!((live.kernels, live.sets, live.stored_kernels), (10, 4, 3));
        assert_eq!((live.stored, live.captured_others, live.refused_others), (8, 9, 7));
        assert_eq!(live.launched_kernels(), 4);
        page[8] = 2;
        assert_eq!(Live::parse(&page), None, "of another version");
        assert_eq!(Live::parse(&vec![0; Live::BYTES]), None, "made and not written yet");
        assert_eq!(Live::parse(b"hodo.gpu"), None);
    }
}

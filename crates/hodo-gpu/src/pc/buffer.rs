//! The memory CUPTI writes sampled instructions into, and what it says of them.

use super::layout::{Data, Pc, Stalled, stride};

/// Reasons that fit beside an instruction. CUPTI has some forty.
pub const MOST_REASONS: usize = 64;

/// Instructions with their reasons, where CUPTI may write until sampling is disabled.
#[derive(Debug)]
pub struct Buffer {
    data: Box<Data>,
    /// [`Pc`] after [`Pc`], `stride` bytes each, in words so that they are aligned.
    pcs: Vec<u64>,
    stalls: Vec<Stalled>,
    stride: usize,
}

// SAFETY: its pointers lead to its own memory.
unsafe impl Send for Buffer {}

/// One reason at one instruction, as it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Address of the function's name.
    pub name: u64,
    /// Checksum of its machine code.
    pub cubin: u64,
    /// Bytes from its first.
    pub offset: u64,
    /// CUPTI's number of the reason.
    pub reason: u32,
    /// How often.
    pub samples: u32,
    /// The launch; 0 when not known.
    pub correlation: u32,
}

impl Buffer {
    /// Room for `capacity` instructions as CUPTI `version` lays them out.
    pub fn new(version: u32, capacity: usize) -> Buffer {
        let stride = stride(version);
        let mut buffer = Buffer {
            data: Box::new(Data {
                size: size_of::<Data>(),
                capacity,
                samples: 0,
                dropped: 0,
                filled: 0,
                remaining: 0,
                range: 0,
                first: std::ptr::null_mut(),
                foreign: 0,
                device_full: 0,
            }),
            pcs: vec![0; capacity * stride / size_of::<u64>()],
            stalls: vec![Stalled::default(); capacity * MOST_REASONS],
            stride,
        };
        buffer.data.first = buffer.pcs.as_mut_ptr().cast();
        buffer.prepare();
        buffer
    }

    fn pc(&self, at: usize) -> *mut Pc {
        self.data.first.wrapping_add(at * self.stride).cast()
    }

    /// Makes it fit to be filled, and gives its address.
    pub fn prepare(&mut self) -> *mut Data {
        for at in 0..self.data.capacity {
            let stalls = self.stalls[at * MOST_REASONS..].as_mut_ptr();
            let pc = self.pc(at);
            // SAFETY: inside `pcs`; the fields written are those that every version has.
            unsafe {
                (*pc).size = self.stride;
                (*pc).reasons = MOST_REASONS;
                (*pc).first = stalls;
            }
        }
        (self.data.filled, self.data.remaining) = (0, 0);
        (self.data.samples, self.data.dropped, self.data.foreign) = (0, 0, 0);
        &mut *self.data
    }

    /// What CUPTI says of it.
    pub fn data(&self) -> &Data {
        &self.data
    }

    /// What was filled in, reasons that were not seen left out.
    pub fn seen(&self) -> impl Iterator<Item = Seen> {
        (0..self.data.filled.min(self.data.capacity)).flat_map(move |at| {
            let pc = self.pc(at);
            // SAFETY: inside `pcs`, which CUPTI is done writing to; the launch is read only where
            // the version has one.
            let (name, cubin, offset, reasons, correlation) = unsafe {
                let has_launch = self.stride == size_of::<Pc>();
                let correlation = if has_launch { (*pc).correlation } else { 0 };
                ((*pc).name as u64, (*pc).cubin, (*pc).offset, (*pc).reasons, correlation)
            };
            let first = at * MOST_REASONS;
            self.stalls[first..first + reasons.min(MOST_REASONS)]
                .iter()
                .filter(|stall| stall.samples > 0)
                .map(move |&Stalled { reason, samples }| Seen {
                    name,
                    cubin,
                    offset,
                    reason,
                    samples,
                    correlation,
                })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fills a buffer as CUPTI would: three instructions, the middle one with two reasons.
    fn filled(version: u32) -> Buffer {
        let mut buffer = Buffer::new(version, 4);
        let data = buffer.prepare();
        let stride = stride(version);
        // SAFETY: as CUPTI writes, within what the buffer offers.
        unsafe {
            for (at, reasons) in [(0usize, 1usize), (1, 2), (2, 0)] {
                let pc = (*data).first.add(at * stride).cast::<Pc>();
                assert_eq!(((*pc).size, (*pc).reasons), (stride, MOST_REASONS));
                (*pc).cubin = 0xc0de;
                (*pc).offset = at as u64 * 16;
                (*pc).name = c"kernel".as_ptr();
                for reason in 0..reasons {
                    let samples = 10 * (at + reason + 1) as u32;
                    *(*pc).first.add(reason) = Stalled { reason: reason as u32 + 5, samples };
                }
                (*pc).reasons = reasons;
                if stride == size_of::<Pc>() {
                    (*pc).correlation = 77;
                }
            }
            (*data).filled = 3;
        }
        buffer
    }

    #[test]
    fn both_strides_are_read_alike() {
        for (version, launch) in [(21, 0), (130_001, 77)] {
            let buffer = filled(version);
            let rows: Vec<_> = buffer
                .seen()
                .map(|seen| (seen.cubin, seen.offset, seen.reason, seen.samples, seen.correlation))
                .collect();
            let row = |offset, reason, samples| (0xc0de, offset, reason, samples, launch);
            assert_eq!(rows, [row(0, 5, 10), row(16, 5, 20), row(16, 6, 30)], "{version}");
            assert!(buffer.seen().all(|seen| seen.name == c"kernel".as_ptr() as u64));
        }
    }

    #[test]
    fn more_than_fits_is_not_believed() {
        let mut buffer = filled(130_001);
        buffer.data.filled = 1000;
        // SAFETY: the fourth instruction is inside the buffer.
        unsafe { (*buffer.pc(3)).reasons = usize::MAX };
        assert_eq!(buffer.seen().count(), 3);
        assert_eq!(buffer.prepare(), &raw mut *buffer.data);
        assert_eq!(buffer.seen().count(), 0);
    }
}

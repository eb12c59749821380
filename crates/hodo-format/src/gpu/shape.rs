//! What writer and reader of a WORK payload both know before a row.
//!
//! Most of a piece of work is the same each time round a loop: which kernel, how large, in which
//! stream, and which of its fields hold anything. That is its shape, written once a frame. A row
//! says its shape and how its numbers differ from those before.

use super::{Detail, Kernel, Work};

/// Columns of a WORK payload, in the order they lie there.
pub(super) mod column {
    pub const SHAPES: usize = 0;
    pub const DEFINITIONS: usize = 1;
    pub const LANES: usize = 2;
    pub const STARTS: usize = 3;
    pub const LENGTHS: usize = 4;
    pub const BYTES: usize = 5;
    /// The first of the columns of [`super::FOLLOWING`] numbers.
    pub const FOLLOWING: usize = 6;
    pub const COUNT: usize = FOLLOWING + super::FOLLOWING;
}

/// Numbers that are written as the difference from the row before that had them: correlation,
/// span, launched, node, captured, forward, address. Bit `i` of [`Shape::has`] says that a row has
/// the `i`-th.
pub(super) const FOLLOWING: usize = 7;

/// Further bits of [`Shape::has`].
pub(super) mod has {
    pub const START: u16 = 1 << 7;
    pub const END: u16 = 1 << 8;
    pub const BYTES: u16 = 1 << 9;
}

/// Codes of [`Detail`].
mod kind {
    pub const KERNEL: u64 = 1;
    pub const COPY: u64 = 2;
    pub const SET: u64 = 3;
    pub const SYNC: u64 = 4;
    pub const MEMORY: u64 = 5;
}

/// Most numbers a detail is written as.
const MAX_FIELDS: usize = 11;

/// What rows of one sort have in common.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Shape {
    pub lane: Lane,
    pub flags: u16,
    /// Which of its numbers are not 0.
    pub has: u16,
    pub graph: u32,
    pub thread: u32,
    /// Without bytes and address, which are the row's.
    pub detail: Detail,
}

/// Device, context and stream: what runs one after another.
pub(super) type Lane = [u32; 3];

/// The numbers of a row that differ from row to row, besides its times.
#[derive(Default)]
pub(super) struct Numbers {
    pub following: [u64; FOLLOWING],
    pub bytes: u64,
}

impl Shape {
    pub(super) fn of(work: &Work) -> (Shape, Numbers) {
        let mut detail = work.detail;
        let (bytes, address) = take_numbers(&mut detail);
        let following = [
            u64::from(work.correlation),
            work.span.0,
            work.launched,
            work.node,
            work.captured.0,
            work.forward.0,
            address,
        ];
        let bit = |is: bool, bit: u16| if is { bit } else { 0 };
        let mut has = bit(work.start != 0, has::START)
            | bit(work.end != 0, has::END)
            | bit(bytes != 0, has::BYTES);
        for (i, number) in following.iter().enumerate() {
            has |= bit(*number != 0, 1 << i);
        }
        let lane = [work.device, work.context, work.stream];
        let Work { flags, graph, thread, .. } = *work;
        let shape = Shape { lane, flags, has, graph, thread, detail };
        (shape, Numbers { following, bytes })
    }
}

/// Bytes and address of a detail, which then has 0 in their place.
fn take_numbers(detail: &mut Detail) -> (u64, u64) {
    use std::mem::take;
    match detail {
        Detail::Copy { bytes, .. } | Detail::Set { bytes, .. } => (take(bytes), 0),
        Detail::Memory { bytes, address, .. } => (take(bytes), take(address)),
        Detail::Kernel(_) | Detail::Sync { .. } => (0, 0),
    }
}

/// Puts back what [`take_numbers`] took.
pub(super) fn put_numbers(detail: &mut Detail, numbers: &Numbers) {
    match detail {
        Detail::Copy { bytes, .. } | Detail::Set { bytes, .. } => *bytes = numbers.bytes,
        Detail::Memory { bytes, address, .. } => {
            *bytes = numbers.bytes;
            *address = numbers.following[FOLLOWING - 1];
        }
        Detail::Kernel(_) | Detail::Sync { .. } => {}
    }
}

/// Code and fields of a detail.
pub(super) fn fields(detail: &Detail) -> (u64, [u64; MAX_FIELDS], usize) {
    let mut all = [0; MAX_FIELDS];
    let mut put = |fields: &[u32]| {
        all.iter_mut().zip(fields).for_each(|(to, from)| *to = u64::from(*from));
        fields.len()
    };
    let (code, count) = match *detail {
        Detail::Kernel(Kernel {
            name,
            grid: [gx, gy, gz],
            block: [bx, by, bz],
            registers,
            static_shared,
            dynamic_shared,
            local,
        }) => {
            let registers = u32::from(registers);
            let sizes = [registers, static_shared, dynamic_shared, local];
            let [a, b, c, d] = sizes;
            (kind::KERNEL, put(&[name, gx, gy, gz, bx, by, bz, a, b, c, d]))
        }
        Detail::Copy { direction, from, to, .. } => {
            (kind::COPY, put(&[direction.into(), from.into(), to.into()]))
        }
        Detail::Set { memory, .. } => (kind::SET, put(&[memory.into()])),
        Detail::Sync { what } => (kind::SYNC, put(&[what.into()])),
        Detail::Memory { freed, memory, .. } => (kind::MEMORY, put(&[freed.into(), memory.into()])),
    };
    (code, all, count)
}

/// The detail of a code and its fields, of which there may be more than this version knows.
/// `Ok(None)` for a code it does not know, an error for one it knows with fields that cannot be.
pub(super) fn detail(
    code: u64,
    mut fields: impl Iterator<Item = u64>,
) -> Result<Option<Detail>, ()> {
    let mut half = || fields.next().and_then(|field| u32::try_from(field).ok()).ok_or(());
    let byte = |field: u32| u8::try_from(field).map_err(|_| ());
    Ok(Some(match code {
        kind::KERNEL => Detail::Kernel(Kernel {
            name: half()?,
            grid: [half()?, half()?, half()?],
            block: [half()?, half()?, half()?],
            registers: u16::try_from(half()?).map_err(|_| ())?,
            static_shared: half()?,
            dynamic_shared: half()?,
            local: half()?,
        }),
        kind::COPY => Detail::Copy {
            bytes: 0,
            direction: byte(half()?)?,
            from: byte(half()?)?,
            to: byte(half()?)?,
        },
        kind::SET => Detail::Set { bytes: 0, memory: byte(half()?)? },
        kind::SYNC => Detail::Sync { what: byte(half()?)? },
        kind::MEMORY => {
            Detail::Memory { freed: half()? != 0, bytes: 0, address: 0, memory: byte(half()?)? }
        }
        _ => return Ok(None),
    }))
}

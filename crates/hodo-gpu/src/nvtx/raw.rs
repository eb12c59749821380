//! What NVTX version 3 passes between a program and a tool, as its C headers lay it out.

use std::ffi::{c_char, c_int, c_uint, c_void};

/// Asks an instance of NVTX, of which every library has its own, for one of its tables.
pub type GetExportTable = unsafe extern "C" fn(u32) -> *const c_void;

/// A function in a table, whatever its type.
pub type Function = *const c_void;

/// Number of the table of [`Callbacks`].
pub const CALLBACKS: u32 = 1;

/// Where an instance keeps the functions of a module.
#[derive(Debug)]
#[repr(C)]
pub struct Callbacks {
    /// Bytes of this table.
    pub struct_size: usize,
    /// Gives the places of a module's functions, and how many they are; 0 when it has none.
    pub module: Option<unsafe extern "C" fn(c_int, *mut *mut *mut Function, *mut c_uint) -> c_int>,
}

/// Functions without a domain.
pub const CORE: c_int = 1;
/// Functions with one.
pub const CORE2: c_int = 5;

/// What a push or a pop answers where nothing keeps count of them.
pub const NOT_TRACKED: c_int = -2;

/// A domain as the program holds it; null is the default one.
pub type DomainHandle = *const c_void;
/// A registered string as the program holds it.
pub type StringHandle = *const c_void;

/// What a range or a mark is described with.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Event {
    /// Version of NVTX.
    pub version: u16,
    /// Bytes of this structure.
    pub size: u16,
    /// Number of a category; 0 for none.
    pub category: u32,
    /// How the colour is given.
    pub color_type: i32,
    /// The colour.
    pub color: u32,
    /// What the payload is; one of [`payload`].
    pub payload_type: i32,
    /// Nothing.
    pub reserved: i32,
    /// Its bits.
    pub payload: u64,
    /// What the message is; one of [`message`].
    pub message_type: i32,
    /// A text, a wide one, or a [`StringHandle`].
    pub message: *const c_void,
}

const _: () = {
    use std::mem::offset_of;
    assert!(size_of::<Event>() == 48);
    assert!(offset_of!(Event, category) == 4 && offset_of!(Event, payload_type) == 16);
    assert!(offset_of!(Event, payload) == 24 && offset_of!(Event, message_type) == 32);
    assert!(offset_of!(Event, message) == 40);
};

/// What a payload is.
pub mod payload {
    /// An unsigned whole number of 64 bits; the others by their names.
    pub const U64: i32 = 1;
    /// See [`U64`].
    pub const I64: i32 = 2;
    /// See [`U64`].
    pub const F64: i32 = 3;
    /// See [`U64`].
    pub const U32: i32 = 4;
    /// See [`U64`].
    pub const I32: i32 = 5;
    /// See [`U64`].
    pub const F32: i32 = 6;
}

/// What a message is.
pub mod message {
    /// A text that ends in a NUL.
    pub const ASCII: i32 = 1;
    /// A wide one.
    pub const WIDE: i32 = 2;
    /// A registered one.
    pub const REGISTERED: i32 = 3;
}

impl Event {
    /// Says nothing.
    pub const NONE: Event = Event {
        version: 0,
        size: size_of::<Event>() as u16,
        category: 0,
        color_type: 0,
        color: 0,
        payload_type: 0,
        reserved: 0,
        payload: 0,
        message_type: 0,
        message: std::ptr::null(),
    };

    /// Works on an event as it stands, or on as much of it as the caller has.
    ///
    /// # Safety
    /// `event` is null or points at as many bytes as its size says.
    #[inline(always)]
    pub unsafe fn with<T>(event: *const Event, work: impl Fn(&Event) -> T) -> T {
        // SAFETY: by the contract.
        unsafe {
            if event.is_aligned()
                && !event.is_null()
                && usize::from((*event).size) >= size_of::<Event>()
            {
                return work(&*event);
            }
            work(&Event::read(event))
        }
    }

    /// # Safety
    /// As for [`Event::with`].
    #[cold]
    #[inline(never)]
    unsafe fn read(event: *const Event) -> Event {
        let mut known = Event::NONE;
        if !event.is_null() {
            // SAFETY: by the contract.
            unsafe {
                let bytes = usize::from((&raw const (*event).size).read_unaligned());
                let bytes = bytes.min(size_of::<Event>());
                (&raw mut known).cast::<u8>().copy_from_nonoverlapping(event.cast(), bytes);
            }
        }
        known
    }

    /// Whether it says nothing but its message.
    #[inline(always)]
    pub fn is_plain(&self) -> bool {
        self.category == 0 && self.payload_type == 0
    }

    /// The payload, as it is kept: a code of a value and its bits.
    #[inline(always)]
    pub fn payload(&self) -> Option<(u16, u64)> {
        use hodo_record::binding::code;
        let low = self.payload as u32;
        Some(match self.payload_type {
            payload::I64 => (code::I64, self.payload),
            payload::U64 => match i64::try_from(self.payload) {
                Ok(_) => (code::I64, self.payload),
                Err(_) => (code::F64, (self.payload as f64).to_bits()),
            },
            payload::F64 => (code::F64, self.payload),
            payload::U32 => (code::I64, low.into()),
            payload::I32 => (code::I64, i64::from(low as i32) as u64),
            payload::F32 => (code::F64, f64::from(f32::from_bits(low)).to_bits()),
            _ => return None,
        })
    }
}

/// More of a text is never looked at; the recorder cuts it shorter, and shows that it did.
const LONGEST: usize = 2048;

/// # Safety
/// `text` is null or ends in a NUL.
#[inline(always)]
pub unsafe fn bytes<'a>(text: *const c_char) -> &'a [u8] {
    if text.is_null() {
        return b"";
    }
    // SAFETY: by the contract; the length stops at the NUL.
    unsafe { std::slice::from_raw_parts(text.cast(), libc::strnlen(text, LONGEST)) }
}

/// A wide text; what is no character in it is replaced.
///
/// # Safety
/// `text` is null or ends in a NUL.
pub unsafe fn wide(text: *const libc::wchar_t) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: by the contract: each is read only after the one before was no NUL.
    let unit = |i| unsafe { text.add(i).read_unaligned() } as u32;
    let characters = (0..LONGEST).map(unit).take_while(|&unit| unit != 0);
    characters.map(|unit| char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hodo_record::binding::code;

    #[test]
    fn payloads_keep_their_value() {
        let of = |payload_type, payload| Event { payload_type, payload, ..Event::NONE }.payload();
        assert_eq!(of(payload::I32, u64::from(-3i32 as u32)), Some((code::I64, -3i64 as u64)));
        assert_eq!(of(payload::U32, 0xffff_ffff_0000_0007), Some((code::I64, 7)));
        assert_eq!(of(payload::U64, 7), Some((code::I64, 7)));
        assert_eq!(of(payload::U64, u64::MAX), Some((code::F64, (u64::MAX as f64).to_bits())));
        assert_eq!(of(payload::F32, 0.5f32.to_bits().into()), Some((code::F64, 0.5f64.to_bits())));
        assert_eq!(of(0, 7), None);
        assert_eq!(of(0x4000_0000, 7), None);
    }

    #[test]
    fn an_event_is_read_as_far_as_it_goes() {
        let event = Event { size: 8, category: 5, payload_type: payload::I64, ..Event::NONE };
        let seen = |event: &Event| (event.category, event.payload_type);
        // SAFETY: the structure is as large as it says, or larger.
        unsafe {
            assert_eq!(Event::with(&event, seen), (5, 0));
            let whole = Event { size: 64, ..event };
            assert_eq!(Event::with(&whole, seen), (5, payload::I64));
            let mut bytes = [0u8; 49];
            let odd = bytes[1..].as_mut_ptr().cast::<Event>();
            odd.write_unaligned(whole);
            assert_eq!(Event::with(odd, seen), (5, payload::I64));
            assert_eq!(Event::with(std::ptr::null(), seen), (0, 0));
        }
    }

    #[test]
    fn texts_end_at_their_nul_or_at_the_limit() {
        let long = std::ffi::CString::new(vec![b'x'; 3 * LONGEST]).expect("no NUL");
        // SAFETY: all end in a NUL.
        unsafe {
            assert_eq!(bytes(c"abc".as_ptr()), b"abc");
            assert_eq!(bytes(std::ptr::null()), b"");
            assert_eq!(bytes(long.as_ptr()).len(), LONGEST);
            let units = ['ä' as libc::wchar_t, 0x11_0000, 'z' as libc::wchar_t, 0];
            assert_eq!(wide(units.as_ptr()), "ä\u{fffd}z");
            assert_eq!(wide(std::ptr::null()), "");
        }
    }
}

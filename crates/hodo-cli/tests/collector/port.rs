//! A port that nobody else takes.

use std::net::TcpListener;
use std::os::fd::{FromRawFd, OwnedFd};

/// A port of this machine for a server that begins later, or again and again. Meanwhile nobody gets it,
/// neither another server that asks for any nor a connection to elsewhere.
pub struct Port {
    /// Bound to it and never listening: a server may bind beside that, as they all do to start again.
    _kept: TcpListener,
    pub number: u16,
}

impl Port {
    pub fn keep() -> Port {
        // SAFETY: plain calls; the address and the option's value are valid and of the sizes told.
        let kept = unsafe {
            let socket = libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0);
            assert!(socket >= 0, "{}", std::io::Error::last_os_error());
            let kept = OwnedFd::from_raw_fd(socket);
            let mut address: libc::sockaddr_in = std::mem::zeroed();
            address.sin_family = libc::AF_INET as libc::sa_family_t;
            address.sin_addr.s_addr = u32::from_ne_bytes([127, 0, 0, 1]);
            let (on, size) = (1, size_of::<libc::c_int>() as u32);
            let again = (&raw const on).cast();
            let set = libc::setsockopt(socket, libc::SOL_SOCKET, libc::SO_REUSEADDR, again, size);
            let size = size_of::<libc::sockaddr_in>() as u32;
            let bound = libc::bind(socket, (&raw const address).cast(), size);
            assert_eq!((set, bound), (0, 0), "{}", std::io::Error::last_os_error());
            TcpListener::from(kept)
        };
        let number = kept.local_addr().unwrap().port();
        Port { _kept: kept, number }
    }
}

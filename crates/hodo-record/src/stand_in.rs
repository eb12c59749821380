//! A lock of this host for files that lie where nothing can be locked.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Error;
use std::path::{Path, PathBuf};

/// Whether this is what a disk says that locks nothing, as some of networks do.
pub fn locks_nothing(error: &Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOTSUP | libc::ENOSYS | libc::ENOLCK))
}

/// The file of this host and user that is locked instead of the one at `path`; `what` is in its name.
pub fn stand_in(what: &str, path: &Path) -> PathBuf {
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    // SAFETY: getuid has no failure.
    let user = unsafe { libc::getuid() };
    std::env::temp_dir().join(format!("hodo-{what}-{user}-{:016x}.lock", hasher.finish()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stand_ins_differ_by_what_they_stand_for() {
        let of = |what, path| stand_in(what, Path::new(path));
        assert_eq!(of("ship", "/a/lock"), of("ship", "/a/lock"));
        assert_ne!(of("ship", "/a/lock"), of("ship", "/b/lock"));
        assert_ne!(of("ship", "/a/lock"), of("sampler", "/a/lock"));
        assert!(locks_nothing(&Error::from_raw_os_error(libc::ENOLCK)));
        assert!(!locks_nothing(&Error::from_raw_os_error(libc::EWOULDBLOCK)));
    }
}

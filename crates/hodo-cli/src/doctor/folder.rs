//! Checks of the folder runs are recorded to.

use super::Check;
use crate::term::number;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const MIB: u64 = 1 << 20;
/// What the arena needs at the least, with some spool.
const LEAST_BYTES: u64 = 128 * MIB;
/// The spool's default cap.
const WANTED_BYTES: u64 = 4096 * MIB;

/// All checks of `dir`, which need not exist yet.
pub fn all(dir: &Path) -> Vec<Check> {
    let place = nearest(dir);
    vec![writable(dir, &place), filesystem(&place), space(&place)]
}

/// `dir`, or the nearest folder above it that exists.
pub fn nearest(dir: &Path) -> PathBuf {
    let full = std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
    full.ancestors().find(|p| p.exists()).unwrap_or(Path::new("/")).to_owned()
}

fn c_path(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).unwrap_or_default()
}

fn writable(dir: &Path, place: &Path) -> Check {
    const NAME: &str = "folder";
    let shown = crate::term::text::safe(&dir.display().to_string());
    if !place.is_dir() {
        return Check::bad(
            NAME,
            format!("{shown} is not a folder"),
            "name another with --dir or HODO_DIR",
        );
    }
    match try_write(place) {
        Ok(()) if place.ends_with(dir) || dir.exists() => {
            Check::ok(NAME, format!("{shown} can be written"))
        }
        Ok(()) => Check::ok(NAME, format!("{shown} does not exist yet and can be made")),
        Err(why) => Check::bad(
            NAME,
            format!("{shown} cannot be written: {why}; a run would stay in memory"),
            "name another folder with --dir or HODO_DIR",
        ),
    }
}

/// Makes and removes a file: permission bits alone do not tell of read-only mounts or quotas.
fn try_write(place: &Path) -> std::io::Result<()> {
    let probe = place.join(format!(".hodo-doctor-{}", std::process::id()));
    std::fs::OpenOptions::new().write(true).create_new(true).open(&probe)?;
    std::fs::remove_file(&probe)
}

fn filesystem(place: &Path) -> Check {
    let path = c_path(place);
    // SAFETY: an all-zero statfs is a valid value to be filled.
    let mut found: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: `path` ends in a zero byte and `found` is alive for the call.
    if unsafe { libc::statfs(path.as_ptr(), &mut found) } != 0 {
        let why = std::io::Error::last_os_error();
        return Check::warn(
            "filesystem",
            format!("not known: {why}"),
            "check that the folder is mounted",
        );
    }
    filesystem_from(found.f_type as u64 & 0xffff_ffff)
}

/// Filesystems by the magic number `statfs` gives, and whether a mapping of a file on them is sound.
const FILESYSTEMS: [(u64, &str, bool); 15] = [
    (0xef53, "ext4", true),
    (0x5846_5342, "xfs", true),
    (0x9123_683e, "btrfs", true),
    (0x0102_1994, "tmpfs", true),
    (0x794c_7630, "overlayfs", true),
    (0x2fc1_2fc1, "zfs", true),
    (0xf2f5_2010, "f2fs", true),
    (0xca45_1a4e, "bcachefs", true),
    (0x6969, "NFS", false),
    (0x6573_5546, "FUSE", false),
    (0x0102_1997, "9p", false),
    (0xff53_4d42, "CIFS", false),
    (0xfe53_4d42, "SMB2", false),
    (0x0bd0_0bd0, "Lustre", false),
    (0x00c3_6400, "Ceph", false),
];

fn filesystem_from(magic: u64) -> Check {
    const NAME: &str = "filesystem";
    match FILESYSTEMS.iter().find(|(m, ..)| *m == magic) {
        Some((_, "tmpfs", _)) => Check::warn(
            NAME,
            "tmpfs: recordings take memory and are gone after a reboot",
            "name a folder on a disk with --dir or HODO_DIR to keep runs",
        ),
        Some((_, name, true)) => Check::ok(NAME, format!("{name}, fit for mapping")),
        Some((_, name, false)) => Check::warn(
            NAME,
            format!(
                "{name}: not safe to map, so the rings go to a local folder named in process.json"
            ),
            "nothing to do; a local folder avoids the detour, and a crash is read back only on this machine",
        ),
        None => Check::ok(NAME, format!("type {magic:#x}, taken as fit for mapping")),
    }
}

fn space(place: &Path) -> Check {
    let path = c_path(place);
    // SAFETY: an all-zero statvfs is a valid value to be filled.
    let mut found: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: `path` ends in a zero byte and `found` is alive for the call.
    if unsafe { libc::statvfs(path.as_ptr(), &mut found) } != 0 {
        let why = std::io::Error::last_os_error();
        return Check::warn(
            "free space",
            format!("not known: {why}"),
            "check that the folder is mounted",
        );
    }
    space_from(found.f_bavail as u64 * found.f_frsize as u64)
}

fn space_from(free: u64) -> Check {
    const NAME: &str = "free space";
    let shown = number::bytes(free);
    if free < LEAST_BYTES {
        Check::bad(
            NAME,
            format!("{shown}: not enough for the rings"),
            "free some, or name another folder",
        )
    } else if free < WANTED_BYTES {
        let found = format!("{shown}: less than the 4 GiB a long run may take");
        Check::warn(NAME, found, "free some, or set HODO_SPOOL_BYTES lower")
    } else {
        Check::ok(NAME, shown)
    }
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;

    #[test]
    fn network_filesystems_are_not_mapped() {
        assert_eq!(filesystem_from(0xef53).state, State::Ok);
        assert_eq!(filesystem_from(0x6969).state, State::Warn);
        assert_eq!(filesystem_from(0x1234_5678).state, State::Ok);
    }

    #[test]
    fn little_space_is_said_before_none_is_left() {
        assert_eq!(space_from(100 * MIB).state, State::Bad);
        assert_eq!(space_from(1024 * MIB).state, State::Warn);
        assert_eq!(space_from(5000 * MIB).state, State::Ok);
    }

    #[test]
    fn a_file_in_the_way_is_bad() {
        let file = std::env::temp_dir().join(format!("hodo-doctor-test-{}", std::process::id()));
        std::fs::write(&file, "x").unwrap();
        let checks = all(&file);
        std::fs::remove_file(&file).unwrap();
        assert_eq!(checks[0].state, State::Bad, "{:?}", checks[0]);
    }
}

//! Where `libhodo.so` is, which the program's process is to load.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Where it lies from the folder of the program: an installed one and the Python package have it in
/// `lib` beside `bin`, a build folder under cargo's name.
const PLACES: [&str; 3] = ["../lib/libhodo.so", "libhodo.so", "libhodo_runtime.so"];

/// The library, as an absolute path; or what to do.
pub fn find() -> Result<PathBuf, String> {
    let exe = std::env::current_exe().unwrap_or_default();
    find_from(exe.parent().unwrap_or(Path::new("/")), std::env::var_os("HODO_LIBRARY"))
}

fn find_from(folder: &Path, told: Option<OsString>) -> Result<PathBuf, String> {
    if let Some(told) = told.filter(|told| !told.is_empty()) {
        let path = PathBuf::from(&told);
        return path.canonicalize().ok().filter(|path| path.is_file()).ok_or_else(|| {
            format!("HODO_LIBRARY={} is no file; name libhodo.so, or unset it", path.display())
        });
    }
    let places = PLACES.map(|place| folder.join(place));
    let found = places.iter().filter_map(|place| place.canonicalize().ok()).find(|p| p.is_file());
    found.ok_or_else(|| {
        let looked: Vec<String> = places.iter().map(|place| place.display().to_string()).collect();
        format!(
            "libhodo.so, which records inside the program, is not installed (looked for {}); \
             install it with `pip install .` or `make install`, or set HODO_LIBRARY to it",
            looked.join(", ")
        )
    })
}

/// The folder that a Python program gets on its path to be hooked as it starts: beside the library in
/// the Python package.
pub fn hooks(library: &Path) -> Result<PathBuf, String> {
    let start = library.parent().unwrap_or(Path::new("/")).join("../hooks/start");
    start.canonicalize().map_err(|_| {
        "--hooks needs hodo's Python package, and this `hodo` is not the one of it; \
         `pip install .` installs both, or leave --hooks out and call hodo.profile() in the program"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_found_beside_the_program_or_where_it_is_said() {
        let root = std::env::temp_dir().join(format!("hodo-library-{}", std::process::id()));
        let (bin, lib) = (root.join("bin"), root.join("lib"));
        [&bin, &lib].iter().for_each(|folder| std::fs::create_dir_all(folder).unwrap());
        let why = find_from(&bin, None).unwrap_err();
        assert!(why.contains("make install") && why.contains("HODO_LIBRARY"), "{why}");
        for place in ["bin/libhodo_runtime.so", "bin/libhodo.so", "lib/libhodo.so"] {
            std::fs::write(root.join(place), "").unwrap();
            let found = find_from(&bin, None).unwrap();
            assert_eq!(found, root.canonicalize().unwrap().join(place));
        }
        let other = bin.join("libhodo.so");
        assert_eq!(
            find_from(&bin, Some(other.clone().into())).unwrap(),
            other.canonicalize().unwrap()
        );
        let why = find_from(&bin, Some(root.join("none").into())).unwrap_err();
        assert!(why.contains("HODO_LIBRARY=") && why.contains("no file"), "{why}");
        std::fs::remove_dir_all(&root).unwrap();
    }
}

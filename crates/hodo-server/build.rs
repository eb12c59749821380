//! Lists the files of the page, so that they become part of the program.

use std::fmt::Write;
use std::path::Path;

/// The folder of the page in that of the package, where a build script runs.
///
/// The list has no folder of its own in it: two clones that share a folder of builds would else
/// take over each other's page.
const PAGE: &str = "page";

fn main() -> std::io::Result<()> {
    println!("cargo::rerun-if-changed={PAGE}");
    let mut files: Vec<_> =
        std::fs::read_dir(PAGE)?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| file.is_file());
    files.sort();
    let mut list = String::from("&[\n");
    for file in files {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        println!("cargo::rerun-if-changed={}", file.display());
        let inside = format!("/{}", file.display());
        // Writing to a string does not fail.
        let _ = writeln!(
            list,
            "    ({name:?}, include_bytes!(concat!(env!(\"CARGO_MANIFEST_DIR\"), {inside:?}))),"
        );
    }
    list.push(']');
    let out = std::env::var_os("OUT_DIR").unwrap_or_default();
    std::fs::write(Path::new(&out).join("page.rs"), list)
}

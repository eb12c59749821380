//! Other people's readers, on the tables that `hodo sql` reads.

use crate::made::Folder;
use crate::program::{PROGRAM, folder, packed};
use crate::servers::python;
use crate::{gpu, samples};
use std::process::Command;

const SCRIPT: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/hodo-cli/tests/parquet_readers.py");

#[test]
fn they_find_the_same_rows_and_sums() {
    let Some(python) = python() else { return };
    for made in [samples::training(100), samples::hostile(300), gpu::step()] {
        let (recorded, packs) = (folder(&made), Folder::new());
        let pack = packed(recorded.path(), packs.path());
        let output = Command::new(&python)
            .arg(SCRIPT)
            .arg(&pack)
            .args(["--hodo-sql", PROGRAM])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        let names = "the same: pyarrow, polars, duckdb, hodo sql";
        assert!(String::from_utf8_lossy(&output.stdout).starts_with(names), "{said}");
    }
}

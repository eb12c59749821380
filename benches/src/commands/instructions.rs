//! `instructions <row>...`: instructions of one cycle on the thread that records, by callgrind.
//!
//! Two runs that differ only in the number of cycles; what they differ in is the cycle's.

use super::Done;
use crate::table;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

const FEW: u64 = 20_000;
const MANY: u64 = 120_000;
/// What an open and a close may take.
const LIMIT: f64 = 90.0;

/// Counts the rows that are named.
pub fn run(rows: &[String]) -> Done {
    println!("| row | instructions a cycle |");
    println!("|---|---:|");
    let counts: Vec<_> = rows.iter().map(|row| (row, instructions(row))).collect();
    for (row, count) in &counts {
        match count {
            Ok(count) => println!("| {row} | {count:.1} |"),
            Err(why) => println!("| {row} | {why} |"),
        }
    }
    if let Some((_, Ok(count))) = counts.iter().find(|(row, _)| *row == "hodo") {
        table::verdict("instructions of a scope that is on", *count, LIMIT, "");
    }
    Ok(())
}

fn instructions(row: &str) -> Result<f64, String> {
    let difference = counted(row, MANY)?.saturating_sub(counted(row, FEW)?);
    Ok(difference as f64 / (MANY - FEW) as f64)
}

/// Instructions of the main thread in a whole run of `count`.
fn counted(row: &str, cycles: u64) -> Result<u64, String> {
    let program = env::current_exe().map_err(|e| e.to_string())?;
    let folder = env::temp_dir().join(format!("hodo-callgrind-{}", std::process::id()));
    fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
    let run = Command::new("valgrind")
        .args(["--tool=callgrind", "--separate-threads=yes", "--toggle-collect=*measure::timed*"])
        .arg(format!("--callgrind-out-file={}", folder.join("out").display()))
        .arg(&program)
        .args(["count", row, &cycles.to_string()])
        .output();
    let totals = main_thread(&folder.join("out-01"));
    let _ = fs::remove_dir_all(&folder);
    match run {
        Err(error) => Err(format!("not counted: valgrind: {error}")),
        Ok(run) if run.status.success() => totals,
        Ok(run) => Err(String::from_utf8_lossy(&run.stderr).lines().last().unwrap_or("").into()),
    }
}

fn main_thread(file: &Path) -> Result<u64, String> {
    let text = fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
    let total = text.lines().find_map(|line| line.strip_prefix("totals: "));
    total.and_then(|t| t.trim().parse().ok()).ok_or_else(|| "callgrind wrote no totals".into())
}

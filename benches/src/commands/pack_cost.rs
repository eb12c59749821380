//! `pack-cost <hodo> <run folder> <new folder>`: time, memory and bytes of `hodo pack` on one core,
//! and a report from its tables against one from the spool.

use super::Done;
use crate::cost::{Cost, cost};
use crate::{machine, table};
use std::fs;
use std::path::Path;

const TRIES: usize = 3;

/// Packs a few times, tells the least, and compares reports in turns.
pub fn run(arguments: &[String]) -> Done {
    let [hodo, run, packed] = arguments else {
        return Err("usage: pack-cost <hodo> <run folder> <new folder>".into());
    };
    // Children inherit the core.
    machine::pin(0, 0);
    let (mut packs, mut opens) = (Vec::new(), Vec::new());
    for _ in 0..TRIES {
        let _ = fs::remove_dir_all(packed);
        packs.push(cost(hodo, &["pack", run, "--out", packed])?);
        // A filter that drops every scope: what is left is reading them.
        opens.push(cost(hodo, &["report", run, "--name", "no such scope"])?);
    }
    let spans = table_rows(Path::new(packed))? as f64;
    let least =
        |costs: &[Cost], of: fn(&Cost) -> f64| costs.iter().map(of).fold(f64::INFINITY, f64::min);
    let (pack, open) = (least(&packs, |c| c.cpu_s), least(&opens, |c| c.cpu_s));
    let peak = least(&packs, |c| c.peak_mib);
    println!("pack: {pack:.2} s CPU, of which reading the run {open:.2} s, {peak:.0} MiB peak");
    let in_tables = bytes(&Path::new(packed).join("tables/spans"))? as f64;
    let in_all = bytes(Path::new(packed))? as f64;
    table::verdict("spans table, bytes a span, all columns", in_tables / spans, 15.0, "");
    println!("all tables and what hodo adds, bytes a span: {:.2}", in_all / spans);
    table::verdict_at_least(
        "packing, million spans a second on one core, reading the run left out",
        spans / (pack - open) / 1e6,
        2.0,
        "",
    );
    println!("the same with reading the run: {:.2}", spans / pack / 1e6);
    compare_reports(hodo, run, packed)
}

/// The least of reports from the tables and from the spool, in turns.
fn compare_reports(hodo: &str, run: &str, packed: &str) -> Done {
    let mut least = [f64::INFINITY; 2];
    for _ in 0..TRIES {
        for (least, folder) in least.iter_mut().zip([run, packed]) {
            *least = least.min(cost(hodo, &["report", folder])?.cpu_s);
        }
    }
    let [spool, tables] = least;
    println!("report: {spool:.2} s CPU from the spool, {tables:.2} s from the tables");
    table::verdict("report from the tables to one from the spool", tables / spool, 1.0, "");
    Ok(())
}

fn table_rows(packed: &Path) -> Result<u64, Box<dyn std::error::Error>> {
    let side: String = fs::read_to_string(packed.join("pack/side.json"))?;
    let counts = side.split("\"rows\":{\"spans\":").skip(1);
    let spans = counts.filter_map(|rest| rest.split(',').next()?.parse::<u64>().ok());
    Ok(spans.sum())
}

fn bytes(folder: &Path) -> std::io::Result<u64> {
    let mut sum = 0;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        sum += if path.is_dir() { bytes(&path)? } else { path.metadata()?.len() };
    }
    Ok(sum)
}

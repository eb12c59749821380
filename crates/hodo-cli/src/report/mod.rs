//! `hodo report`: where the time of a run went, as text for people or JSON for programs.

mod backward;
mod bench;
mod ends;
mod energy;
mod gpu;
mod header;
mod json;
mod kernels;
mod losses;
mod machine;
mod marks;
mod samples;
mod select;
mod top;
mod tree;
mod verdict;
mod work;

use crate::args::{ReportArgs, When};
use crate::output::{self, Failure, Outcome};
use crate::runs;
use crate::term::style::{self, DIM, STRONG};
use hodo_trace::{Condition, Filter, NamePattern, Run, Tree};
use std::io::Write;
use std::path::Path;

pub use machine::{about as about_machine, named};

/// What every part of the report is made from.
pub struct View<'a> {
    /// The run as read.
    pub run: &'a Run,
    /// Its scopes by path.
    pub tree: &'a Tree,
    /// Which scopes were asked for.
    pub filter: &'a Filter,
    /// What was asked for.
    pub args: &'a ReportArgs,
    /// Scopes with a smaller total are hidden.
    pub min: Limit,
    /// Columns to lay out for.
    pub width: usize,
}

/// The smallest total worth a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// A time in nanoseconds.
    Time(f64),
    /// A share of the time in outermost scopes.
    Share(f64),
}

impl Limit {
    fn parse(text: Option<&str>) -> Result<Limit, Failure> {
        let Some(text) = text else { return Ok(Limit::Time(0.0)) };
        let share =
            || text.strip_suffix('%')?.trim().parse::<f64>().ok().map(|p| Limit::Share(p / 100.0));
        share().or_else(|| hodo_trace::parse_duration_ns(text).map(Limit::Time)).ok_or_else(|| {
            Failure::Usage(format!(
                "`{text}` is neither a time with its unit nor a share; write --min 1.5ms or --min 1%"
            ))
        })
    }
}

/// Runs the verb.
pub fn run(args: &ReportArgs, dir: &Path, color: When) -> Outcome {
    let filter = filter(args)?;
    let min = Limit::parse(args.min.as_deref())?;
    let run = runs::open(dir, args.run.run.as_deref())?;
    check_rank(&run, args.rank)?;
    let tree = hodo_trace::tree(&run, &filter);
    let width = style::columns(args.width);
    let view = View { run: &run, tree: &tree, filter: &filter, args, min, width };
    if args.json {
        output::json(&json::document(&view))?;
    } else {
        style::stdout(color).write_all(text(&view).as_bytes())?;
    }
    Ok(0)
}

fn filter(args: &ReportArgs) -> Result<Filter, Failure> {
    let conditions: Result<Vec<Condition>, _> = args.tests.iter().map(|t| t.parse()).collect();
    Ok(Filter {
        name: args.name.as_deref().map(NamePattern::new),
        conditions: conditions?,
        rank: args.rank,
        last: args.last.as_deref().map(str::parse).transpose()?,
        ..Filter::default()
    })
}

fn check_rank(run: &Run, wanted: Option<u32>) -> Result<(), Failure> {
    let Some(wanted) = wanted else { return Ok(()) };
    let mut ranks: Vec<u32> = run.processes.iter().filter_map(|p| p.info.rank).collect();
    ranks.sort_unstable();
    ranks.dedup();
    if ranks.contains(&wanted) {
        return Ok(());
    }
    let known = match header::ranges(&ranks) {
        none if none.is_empty() => "this run has no ranks; leave --rank out".to_owned(),
        some => format!("this run has {some}"),
    };
    Err(Failure::Failed(format!("no process has rank {wanted}; {known}")))
}

/// Writes a part of the report; nothing when there is nothing to say.
type Section = fn(&View<'_>) -> String;

fn text(view: &View<'_>) -> String {
    let about_gpu: [Section; 4] = [gpu::text, kernels::text, backward::text, samples::text];
    let usual: [Section; 8] = [
        verdict::text,
        tree::text,
        gpu::text,
        ends::text,
        bench::text,
        top::text,
        marks::text,
        machine::text,
    ];
    let asked: &[Section] = if view.args.is_about_gpu() { &about_gpu } else { &usual };
    let sections: [&[Section]; 3] = [&[header::text], asked, &[losses::text]];
    let shown: Vec<String> = sections
        .into_iter()
        .flatten()
        .map(|section| section(view))
        .filter(|section| !section.is_empty())
        .collect();
    shown.join("\n")
}

/// The heading of a section.
pub fn heading(title: &str, note: &str) -> String {
    format!("{}  {}\n", style::paint(STRONG, title), style::paint(DIM, note)).replace("  \n", "\n")
}

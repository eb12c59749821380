//! The time that was asked for.

use crate::args::MachineArgs;
use crate::output::Failure;
use hodo_trace::{Machine, Run, TimeRanges, parse_duration_ns};

/// What `--scope`, `--from` and `--to` say.
pub struct Wanted {
    scope: Option<String>,
    from_ns: i64,
    to_ns: Option<i64>,
}

impl Wanted {
    /// Reads the flags.
    pub fn parse(args: &MachineArgs) -> Result<Wanted, Failure> {
        let from_ns = args.from.as_deref().map(|text| time("--from", text)).transpose()?;
        let to_ns = args.to.as_deref().map(|text| time("--to", text)).transpose()?;
        let from_ns = from_ns.unwrap_or(0);
        if to_ns.is_some_and(|to| to <= from_ns) {
            return Err(Failure::Usage("--to must be later than --from".to_owned()));
        }
        Ok(Wanted { scope: args.scope.clone(), from_ns, to_ns })
    }

    /// The time on a machine; times count from the beginning of the run.
    pub fn on(&self, run: &Run, machine: &Machine) -> Result<TimeRanges, Failure> {
        let whole = run.time_on(machine);
        let Some((start, end)) = whole.bounds() else { return Ok(whole) };
        let start = run.start_ns().unwrap_or(start);
        let from = start.saturating_add(self.from_ns);
        let to = self.to_ns.map_or(end, |to| start.saturating_add(to));
        let Some(scope) = &self.scope else { return Ok(whole.within(from, to)) };
        let open = run.time_in_scope(machine, scope).ok_or_else(|| {
            Failure::Failed(format!(
                "no scope of this run has the path {scope}; hodo report shows them, names joined by /"
            ))
        })?;
        Ok(open.within(from, to))
    }
}

fn time(flag: &str, text: &str) -> Result<i64, Failure> {
    parse_duration_ns(text).map(|ns| ns as i64).ok_or_else(|| {
        Failure::Usage(format!(
            "`{text}` is no time with its unit; write {flag} 10s or {flag} 1.5ms"
        ))
    })
}

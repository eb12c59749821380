//! What cannot be read of a machine, in few lines: what has one reason stands together, and the same
//! of many GPUs is said once.

use hodo_machine::Absent;
use hodo_trace::Machine;

/// Parts named in one line; health and `hodo machine --json` have all.
const MAX_PARTS: usize = 4;
/// How a part of one GPU goes on.
const OF_GPU: &str = " of gpu:";

/// A line for each reason: parts, reason, what would help.
pub fn lines<'a>(absent: impl Iterator<Item = &'a Absent>) -> Vec<String> {
    let mut reasons: Vec<(String, Vec<Part<'_>>)> = Vec::new();
    for Absent { part, why, fix } in absent {
        let why = if fix.is_empty() { why.clone() } else { format!("{why}; {fix}") };
        let at = reasons.iter().position(|(known, _)| *known == why).unwrap_or_else(|| {
            reasons.push((why, Vec::new()));
            reasons.len() - 1
        });
        let parts = &mut reasons[at].1;
        let name = part.split_once(OF_GPU).map_or(part.as_str(), |(name, _)| name);
        match parts.iter_mut().find(|known| known.name == name) {
            Some(known) => known.gpus += 1,
            None => parts.push(Part { name, whole: part, gpus: 1 }),
        }
    }
    reasons.iter().map(|(why, parts)| format!("{}: {why}", named(parts))).collect()
}

/// What the sampler of a recorded machine could not read.
pub fn of(machine: &Machine) -> Vec<Absent> {
    let told = machine.state.as_ref().map_or_else(Vec::new, |state| state.absent());
    let one = |one: hodo_trace::Absent| Absent { part: one.part, why: one.why, fix: one.fix };
    told.into_iter().map(one).collect()
}

/// A part, of one GPU or of several.
struct Part<'a> {
    name: &'a str,
    whole: &'a str,
    gpus: usize,
}

fn named(parts: &[Part<'_>]) -> String {
    let one = |part: &Part<'_>| match part.gpus {
        1 => part.whole.to_owned(),
        gpus => format!("{} of {gpus} GPUs", part.name),
    };
    let shown: Vec<String> = parts.iter().take(MAX_PARTS).map(one).collect();
    let more = parts.len().saturating_sub(MAX_PARTS);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    shown.join(", ") + &more
}

#[cfg(test)]
mod tests {
    use super::*;

    fn absent(part: &str, why: &str, fix: &str) -> Absent {
        Absent { part: part.into(), why: why.into(), fix: fix.into() }
    }

    #[test]
    fn eight_gpus_without_a_fan_are_one_line() {
        let mut all: Vec<Absent> = (0..8)
            .flat_map(|n| {
                ["gpu.fan", "gpu.nvlink.sent"]
                    .map(|part| absent(&format!("{part} of gpu:GPU-{n}"), "not told", ""))
            })
            .collect();
        all.push(absent("pressure", "no such file", "boot with psi=1"));
        all.push(absent("gpu.power of gpu:GPU-3", "it is lost", ""));
        assert_eq!(
            lines(all.iter()),
            [
                "gpu.fan of 8 GPUs, gpu.nvlink.sent of 8 GPUs: not told",
                "pressure: no such file; boot with psi=1",
                "gpu.power of gpu:GPU-3: it is lost",
            ]
        );
    }

    #[test]
    fn what_one_line_cannot_hold_is_counted() {
        let all: Vec<Absent> = (0..7).map(|n| absent(&format!("part{n}"), "lost", "")).collect();
        assert_eq!(lines(all.iter()), ["part0, part1, part2, part3 and 3 more: lost"]);
    }
}

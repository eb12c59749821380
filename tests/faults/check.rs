//! Compares what was read back with the plan and with what the victim acknowledged.

use hodo_tests::acks::{Acks, get};
use hodo_tests::plan;
use hodo_trace::{Counts, Process, Run, SpanId, Value};

/// How often each event of one lane was read, by its place in the plan.
#[derive(Default)]
struct LaneSeen {
    spans: Vec<u8>,
    marks: Vec<u8>,
    attrs: Vec<u8>,
    open_step: Option<u64>,
}

/// What the comparison found.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Acknowledged and not read.
    pub missing: u64,
    /// Read more than once.
    pub duplicated: u64,
    /// Read, though the victim cannot have got there.
    pub impossible: u64,
    /// Read with a wrong name, value or scope.
    pub wrong: u64,
    /// Scopes that were open for certain and are not shown so.
    pub open_missing: u64,
    /// Acknowledged events in all.
    pub acknowledged: u64,
    /// Events read.
    pub read: u64,
}

impl Findings {
    fn add(&mut self, other: &Findings) {
        self.missing += other.missing;
        self.duplicated += other.duplicated;
        self.impossible += other.impossible;
        self.wrong += other.wrong;
        self.open_missing += other.open_missing;
        self.acknowledged += other.acknowledged;
        self.read += other.read;
    }

    /// Nothing read twice, wrongly, or out of thin air.
    pub fn is_true(&self) -> bool {
        (self.duplicated, self.impossible, self.wrong, self.open_missing) == (0, 0, 0, 0)
    }

    /// And nothing missing.
    pub fn is_complete(&self) -> bool {
        self.is_true() && self.missing == 0
    }
}

/// Compares the lanes from `first_lane` of a run's first process with the acknowledgements.
pub fn findings(run: &Run, acks: &Acks, first_lane: usize) -> Findings {
    let mut found = Findings::default();
    let mut lanes: Vec<LaneSeen> = acks.lanes().iter().map(|_| LaneSeen::default()).collect();
    for process in &run.processes {
        spans(process, &mut lanes, &mut found);
        marks(process, &mut lanes, &mut found);
        attrs(process, &mut lanes, &mut found);
    }
    for (lane, seen) in lanes.iter().enumerate().skip(first_lane) {
        let acked = acks.lane(lane);
        found.add(&compare(&seen.spans, get(&acked.spans)));
        found.add(&compare(&seen.marks, get(&acked.marks)));
        found.add(&compare(&seen.attrs, get(&acked.attrs)));
        let step = get(&acked.spans) / 2;
        if get(&acked.open) == 1 && seen.open_step != Some(step) {
            found.open_missing += 1;
        }
    }
    found
}

/// Past what was acknowledged there may be one event: the one on its way when the victim died.
fn compare(seen: &[u8], acked: u64) -> Findings {
    let acked = acked as usize;
    let known = &seen[..seen.len().min(acked)];
    let mut found = Findings { acknowledged: acked as u64, ..Findings::default() };
    found.missing = (acked - known.len()) as u64;
    found.missing += known.iter().filter(|&&times| times == 0).count() as u64;
    found.duplicated = seen.iter().filter(|&&times| times > 1).count() as u64;
    found.impossible = seen.len().saturating_sub(acked + 1) as u64;
    found.read = seen.iter().map(|&times| u64::from(times)).sum();
    found
}

fn spans(process: &Process, lanes: &mut [LaneSeen], found: &mut Findings) {
    for span in process.span_views() {
        let name = span.name();
        let is_step = name == plan::STEP;
        if !is_step && name != plan::INNER && !name.starts_with("named-") {
            continue;
        }
        let Some((lane, step)) = span.index().map(plan::lane_and_step) else {
            found.wrong += 1;
            continue;
        };
        if !is_step && name != plan::inner_name(lane, step) {
            found.wrong += 1;
        }
        if !is_step && !belongs(process, process.spans.parent(span.row), lane, step) {
            found.wrong += 1;
        }
        let Some(seen) = lanes.get_mut(lane as usize) else {
            found.impossible += 1;
            continue;
        };
        match (span.is_open(), is_step) {
            (true, true) if seen.open_step.replace(step).is_some() => found.duplicated += 1,
            (true, _) => {}
            (false, _) => count(&mut seen.spans, step * 2 + u64::from(is_step)),
        }
    }
}

fn marks(process: &Process, lanes: &mut [LaneSeen], found: &mut Findings) {
    let Some(loss) = id_of(process, plan::LOSS) else { return };
    for mark in process.marks.iter().filter(|mark| mark.name == loss) {
        let Value::I64(code) = mark.value else {
            found.wrong += 1;
            continue;
        };
        let (lane, step) = plan::lane_and_step(code);
        found.wrong += u64::from(!belongs(process, mark.span, lane, step));
        match lanes.get_mut(lane as usize) {
            Some(seen) => count(&mut seen.marks, step),
            None => found.impossible += 1,
        }
    }
}

fn attrs(process: &Process, lanes: &mut [LaneSeen], found: &mut Findings) {
    let seq = id_of(process, plan::SEQ);
    let text = id_of(process, plan::TEXT);
    let ours = |key| Some(key) == seq || Some(key) == text;
    for attr in process.attrs.all().iter().filter(|attr| ours(attr.key)) {
        let (lane, step, place) = match &attr.value {
            Value::I64(code) if Some(attr.key) == seq => {
                let (lane, step) = plan::lane_and_step(*code);
                (lane, step, 0)
            }
            Value::Text { text: value, cut: false } if Some(attr.key) == text => {
                let Some((lane, step)) = step_of_text(value) else {
                    found.wrong += 1;
                    continue;
                };
                (lane, step, 1)
            }
            _ => {
                found.wrong += 1;
                continue;
            }
        };
        found.wrong += u64::from(!belongs(process, attr.span, lane, step));
        match lanes.get_mut(lane as usize) {
            Some(seen) => count(&mut seen.attrs, plan::attrs_before(step) + place),
            None => found.impossible += 1,
        }
    }
}

/// Whether `span` is the outer scope of this lane's step, or is not known because it was lost.
fn belongs(process: &Process, span: SpanId, lane: u64, step: u64) -> bool {
    match process.spans.row_of(span) {
        Some(row) => process.spans.index(row) == Some(plan::code(lane, step)),
        None => !span.is_none(),
    }
}

fn id_of(process: &Process, name: &str) -> Option<u32> {
    process.names.iter().find(|(_, text)| *text == name).map(|(id, _)| id)
}

fn step_of_text(text: &str) -> Option<(u64, u64)> {
    let (lane, step) = text.strip_prefix("text of lane ")?.split_once(" step ")?;
    Some((lane.parse().ok()?, step.parse().ok()?))
}

fn count(seen: &mut Vec<u8>, place: u64) {
    let place = place as usize;
    if place >= seen.len() {
        seen.resize(place + 1, 0);
    }
    seen[place] = seen[place].saturating_add(1);
}

/// Asserts the equation: what was produced is what was acknowledged (one more per thread may have
/// been on its way) and every record is stored, in the ring, or lost for a counted reason.
pub fn assert_accounted(run: &Run, acknowledged: Counts, on_their_way: u64) {
    let mut produced = Counts::default();
    for process in &run.processes {
        let account = &process.account;
        let mut explained = account.stored;
        explained += account.in_ring;
        account.lost.iter().for_each(|lost| explained += *lost);
        assert_eq!(account.produced, explained, "{account:#?}");
        assert_eq!(account.unexplained, 0, "{account:#?}");
        assert!(process.damage.is_none(), "{:#?}", process.damage);
        let read = process.spans.rows().filter(|&row| !process.spans.is_open(row)).count() as u64;
        assert_eq!(read, account.stored.spans + account.in_ring.spans, "{account:#?}");
        produced += account.produced;
    }
    let pairs = [
        (produced.spans, acknowledged.spans),
        (produced.marks, acknowledged.marks),
        (produced.attrs, acknowledged.attrs),
    ];
    for (made, acked) in pairs {
        let fits = (acked..=acked + on_their_way).contains(&made);
        assert!(fits, "produced {produced:?}, acknowledged {acknowledged:?}");
    }
}

/// The sum of the lanes' acknowledgements, from `first_lane` on.
pub fn acknowledged(acks: &Acks, first_lane: usize) -> Counts {
    let mut sum = Counts::default();
    for lane in &acks.lanes()[first_lane..] {
        sum += Counts { spans: get(&lane.spans), marks: get(&lane.marks), attrs: get(&lane.attrs) };
    }
    sum
}

#[test]
fn the_comparison_sees_what_is_missing_twice_or_impossible() {
    let seen = |times: &[u8], acked| {
        let found = compare(times, acked);
        (found.missing, found.duplicated, found.impossible)
    };
    assert_eq!(seen(&[1, 1, 1], 3), (0, 0, 0));
    assert_eq!(seen(&[1, 1, 1, 1], 3), (0, 0, 0), "one may have been on its way");
    assert_eq!(seen(&[1, 0, 1], 3), (1, 0, 0));
    assert_eq!(seen(&[1], 3), (2, 0, 0));
    assert_eq!(seen(&[1, 2, 1], 3), (0, 1, 0));
    assert_eq!(seen(&[1, 1, 1, 1, 1], 3), (0, 0, 1));
}

//! Perfetto protobuf: slices, moments and counters of track events, with interned names. What
//! `hodo export --to perfetto` writes comes back with its ids, parents and GPU work.

mod packets;
mod sequence;
mod tracks;

use super::ImportError;
use super::build::Builder;
use super::chrome::attributes::{given, is_own};
use super::chrome::event::{Args, text};
use super::chrome::work::{self, Category};
use super::pool::{Given, Set};
use super::rows::{NewMark, Parent, Scope};
use super::source::{Entry, inflated};
use crate::perfetto::proto::{TracePacket, TrackEvent, event};
use hodo_format::record::{SpanId, flag};
use hodo_trace::OVERHEAD_MARK;
use packets::{Packet, Packets};
use prost::Message;
use sequence::{Clocks, Sequence};
use std::collections::HashMap;
use std::io::Read;
use tracks::{Row, Tracks};

/// Scopes that may be open at once.
const MOST_OPEN: usize = 1 << 18;
/// Writers of one trace.
const MOST_SEQUENCES: usize = 1 << 16;
/// Bytes that packets inside packets may unfold to.
const MOST_INFLATED: u64 = 64 << 20;

/// Imports one file.
pub fn import(entry: Entry<'_>, builder: &mut Builder) -> Result<(), ImportError> {
    let mut file = File::new(builder);
    let path = entry.path.display().to_string();
    let mut packets = Packets::new(entry.bytes);
    let damage = loop {
        match packets.next()? {
            Packet::One => file.packet(&packets.bytes)?,
            Packet::End => break None,
            Packet::Damaged(why) => break Some((packets.offset, why)),
        }
    };
    file.finish(entry.changed_ns)?;
    if let Some((offset, why)) = damage {
        builder.notes.place(format!(
            "{path} is damaged at byte {offset} ({why}); what stands before is imported"
        ));
    }
    Ok(())
}

/// A slice that has begun.
struct Begun {
    name: u32,
    start_ns: i64,
    categories: Vec<String>,
    args: String,
}

/// A file that is being imported.
struct File<'a> {
    builder: &'a mut Builder,
    sequences: HashMap<u32, Sequence>,
    clocks: Clocks,
    tracks: Tracks,
    open: HashMap<u64, Vec<Begun>>,
    open_count: usize,
    last_ns: i64,
    /// A moment with attributes that the value of a counter may follow, which is the same mark.
    moment: Option<Moment>,
}

struct Moment {
    mark: NewMark,
    set: Set,
}

impl<'a> File<'a> {
    fn new(builder: &'a mut Builder) -> File<'a> {
        File {
            builder,
            sequences: HashMap::new(),
            clocks: Clocks::default(),
            tracks: Tracks::default(),
            open: HashMap::new(),
            open_count: 0,
            last_ns: i64::MIN,
            moment: None,
        }
    }

    fn packet(&mut self, bytes: &[u8]) -> Result<(), ImportError> {
        let Ok(packet) = TracePacket::decode(bytes) else {
            self.builder.notes.count("packets that cannot be read, left out");
            return Ok(());
        };
        if let Some(folded) = &packet.compressed_packets {
            return self.inflate(folded);
        }
        if let Some(snapshot) = &packet.clock_snapshot {
            let sequence = packet.trusted_packet_sequence_id.unwrap_or(0);
            self.clocks.snapshot(snapshot, sequence);
        }
        if let Some(descriptor) = &packet.track_descriptor {
            self.tracks.describe(descriptor, self.builder);
        }
        let id = packet.trusted_packet_sequence_id.unwrap_or(0);
        if self.sequences.len() >= MOST_SEQUENCES && !self.sequences.contains_key(&id) {
            self.builder.notes.count("packets of writers past the limit, left out");
            return Ok(());
        }
        let sequence = self.sequences.entry(id).or_default();
        sequence.take(&packet);
        let Some(event) = &packet.track_event else {
            let is_known = packet.clock_snapshot.is_some()
                || packet.track_descriptor.is_some()
                || packet.interned_data.is_some()
                || packet.trace_packet_defaults.is_some();
            if !is_known {
                self.builder.notes.count("packets without a track event, left out");
            }
            return Ok(());
        };
        let clock = packet.timestamp_clock_id.or(sequence.clock);
        let at_ns = packet.timestamp.and_then(|at| self.clocks.ns(at, clock, id));
        match at_ns {
            Some(at_ns) => self.event(event, id, at_ns),
            None => {
                self.builder.notes.count("events without a time, left out");
                Ok(())
            }
        }
    }

    /// Packets that lie in a zlib stream.
    fn inflate(&mut self, folded: &[u8]) -> Result<(), ImportError> {
        let mut inner = Vec::new();
        let read = inflated(folded).take(MOST_INFLATED).read_to_end(&mut inner);
        if let Err(error) = read {
            match ImportError::from(error) {
                ImportError::Damaged(_) => {
                    self.builder.notes.count("compressed packets that are damaged, cut short");
                }
                other => return Err(other),
            }
        }
        let mut packets = Packets::new(inner.as_slice());
        while let Packet::One = packets.next()? {
            let is_nested = TracePacket::decode(packets.bytes.as_slice())
                .is_ok_and(|packet| packet.compressed_packets.is_some());
            if is_nested {
                self.builder.notes.count("compressed packets in others, left out");
                continue;
            }
            self.packet(&packets.bytes)?;
        }
        Ok(())
    }

    fn event(&mut self, event: &TrackEvent, id: u32, at_ns: i64) -> Result<(), ImportError> {
        self.last_ns = self.last_ns.max(at_ns);
        let Some(sequence) = self.sequences.get(&id) else { return Ok(()) };
        let track = event.track_uuid.or(sequence.track).unwrap_or(0);
        if event.r#type != Some(event::COUNTER) {
            self.settle()?;
        }
        match event.r#type {
            Some(event::SLICE_BEGIN) => {
                let Some(sequence) = self.sequences.get(&id) else { return Ok(()) };
                let begun = Begun {
                    name: self.builder.strings.number(&sequence.name(event)),
                    start_ns: at_ns,
                    categories: sequence.categories(event),
                    args: sequence.args(event),
                };
                if self.open_count == MOST_OPEN {
                    self.builder.notes.count("scopes past the limit on open ones, left out");
                    return Ok(());
                }
                self.open_count += 1;
                self.open.entry(track).or_default().push(begun);
                Ok(())
            }
            Some(event::SLICE_END) => {
                let Some(begun) = self.open.get_mut(&track).and_then(Vec::pop) else {
                    self.builder.notes.count("ends of a scope that did not begin, left out");
                    return Ok(());
                };
                self.open_count -= 1;
                self.slice(track, &begun, at_ns, 0)
            }
            Some(event::INSTANT) => self.instant(event, id, track, at_ns),
            Some(event::COUNTER) => self.counter(event, track, at_ns),
            _ => {
                self.builder.notes.count("events of a kind that is not known, left out");
                Ok(())
            }
        }
    }

    fn slice(
        &mut self,
        track: u64,
        begun: &Begun,
        end_ns: i64,
        flags: u16,
    ) -> Result<(), ImportError> {
        let args: Args<'_> = serde_json::from_str(&begun.args).unwrap_or_default();
        let (start_ns, end_ns) = (begun.start_ns, end_ns.max(begun.start_ns));
        let is_gpu = begun.categories.iter().any(|c| c == "gpu");
        let sort = begun.categories.iter().map(|c| Category::of(&format!("gpu,{c}")));
        if let Some(category) = sort.into_iter().find(|c| is_gpu && c.is_work()) {
            return self.work(track, category, (start_ns, end_ns), begun, &args);
        }
        let row = self.tracks.row(track, self.builder);
        let mut scope = Scope {
            process: row.process,
            name: begun.name,
            start_ns,
            end_ns,
            flags,
            ..Scope::default()
        };
        let is_hodo = self.own(track, &row, &args, &mut scope);
        if !is_hodo {
            scope.thread = self.tracks.thread(track, self.builder);
        }
        let mut set = Set::default();
        for (key, raw) in args.0.iter().filter(|(key, _)| !(is_hodo && is_told(key))) {
            let key = self.builder.strings.number(key);
            given(raw, |value| set.push(key, &value));
        }
        self.builder.scope(&scope, &set)
    }

    /// What hodo's own export says of a scope besides; whether it is one of its.
    fn own(&mut self, track: u64, row: &Row, args: &Args<'_>, scope: &mut Scope) -> bool {
        let id = |key: &str| args.get(key).map(text).and_then(|id| work::scope_id(&id));
        let Some(own) = id("hodo.scope_id") else { return false };
        scope.id = Some(own);
        scope.thread = self.tracks.lane(track, self.builder);
        if row.is_thread {
            self.builder.numbered_thread(row.process, own.thread(), row.os_tid, &row.name);
        }
        match (id("hodo.parent_process"), id("hodo.parent_id")) {
            (Some(process), Some(parent)) => {
                scope.parent = Parent::Is(SpanId::NONE);
                if let Some(info) = self.builder.process_mut(row.process) {
                    info.parent = Some((process.0, parent.0));
                }
            }
            (None, Some(parent)) => scope.parent = Parent::Is(parent),
            _ => {}
        }
        scope.index = args.get("index").and_then(|index| index.get().parse().ok());
        scope.cpu_ns = args.number("cpu_ns");
        scope.overhead_ns = args.number(OVERHEAD_MARK);
        scope.flags |= match args.get("cpu_not_captured").map(text).as_deref() {
            Some("suspended") => flag::CPU_SUSPENDED,
            Some("not bound to one thread") => flag::CPU_OTHER_THREAD,
            Some(_) => flag::CPU_OFF,
            None => 0,
        };
        for (key, bit) in [("failed", flag::FAILED), ("open_at_end", flag::LEFT_OPEN)] {
            if args.get(key).is_some() {
                scope.flags |= bit;
            }
        }
        true
    }

    fn work(
        &mut self,
        track: u64,
        category: Category,
        times: (i64, i64),
        begun: &Begun,
        args: &Args<'_>,
    ) -> Result<(), ImportError> {
        let (process, place) = self.tracks.stream(track, self.builder);
        let name = self.builder.strings.text(begun.name).to_owned();
        let strings = &mut self.builder.strings;
        let mut work = work::work(category, process, &name, times, args, strings);
        (work.device, work.context, work.stream) = place;
        self.builder.work(&work)
    }

    fn instant(
        &mut self,
        event: &TrackEvent,
        id: u32,
        track: u64,
        at_ns: i64,
    ) -> Result<(), ImportError> {
        let Some(sequence) = self.sequences.get(&id) else { return Ok(()) };
        let categories = sequence.categories(event);
        // The launch of work that follows says so itself.
        if categories.iter().any(|c| c == "launch") {
            return Ok(());
        }
        let (name, args) = (sequence.name(event), sequence.args(event));
        let args: Args<'_> = serde_json::from_str(&args).unwrap_or_default();
        let is_mark = categories.iter().any(|c| c == "mark");
        let mut set = Set::default();
        let mut is_number = false;
        match args.get("value") {
            Some(raw) => given(raw, |value| {
                is_number = !matches!(value, Given::Text(_));
                set.push(0, &value);
            }),
            None => set.push(0, &Given::Bool(true)),
        }
        let attributes = match is_mark {
            true => args.get("attributes").map(|raw| raw.get().to_owned()),
            false => rest(&args),
        };
        if let Some(json) = &attributes {
            set.push(0, &Given::Json(json));
        }
        let row = self.tracks.row(track, self.builder);
        let mark = NewMark {
            process: row.process,
            thread: self.tracks.marks(track, self.builder),
            name: self.builder.strings.number(&name),
            at_ns,
            // hodo draws the points of a series of numbers as a counter.
            summary: is_mark && is_number,
            span: None,
        };
        if is_mark && attributes.is_some() && is_number {
            self.moment = Some(Moment { mark, set });
            return Ok(());
        }
        self.builder.mark(&mark, &set)
    }

    fn counter(&mut self, event: &TrackEvent, track: u64, at_ns: i64) -> Result<(), ImportError> {
        let Some((name, value)) = self.tracks.value(track, event) else {
            self.builder.notes.count("values of an unknown counter, left out");
            return self.settle();
        };
        let row = self.tracks.row(track, self.builder);
        let name = self.builder.strings.number(&name);
        if let Some(Moment { mark, set }) =
            self.moment.take_if(|m| (m.mark.name, m.mark.at_ns) == (name, at_ns))
        {
            return self.builder.mark(&NewMark { summary: false, ..mark }, &set);
        }
        self.settle()?;
        let mut set = Set::default();
        set.push(0, &value);
        let thread = self.tracks.marks(track, self.builder);
        let process = row.process;
        let mark = NewMark { process, thread, name, at_ns, summary: false, span: None };
        self.builder.mark(&mark, &set)
    }

    /// Writes the moment that waited for a counter.
    fn settle(&mut self) -> Result<(), ImportError> {
        match self.moment.take() {
            Some(Moment { mark, set }) => self.builder.mark(&mark, &set),
            None => Ok(()),
        }
    }

    fn finish(mut self, changed_ns: Option<i64>) -> Result<(), ImportError> {
        self.settle()?;
        let mut open: Vec<_> = std::mem::take(&mut self.open).into_iter().collect();
        open.sort_by_key(|(track, _)| *track);
        for (track, stack) in open {
            for begun in stack {
                self.builder.notes.count("scopes without an end, shown as open");
                self.slice(track, &begun, self.last_ns, flag::LEFT_OPEN)?;
            }
        }
        let offset_ns = self.clocks.wall_offset_ns();
        self.tracks.finish(offset_ns, changed_ns, self.builder);
        Ok(())
    }
}

/// What hodo's export adds to the attributes of a scope.
fn is_told(key: &str) -> bool {
    is_own(key) || key == "cpu_not_captured"
}

/// The annotations of a moment but its value, as JSON.
fn rest(args: &Args<'_>) -> Option<String> {
    let rest = args.0.iter().filter(|(key, _)| key != "value");
    let rest: serde_json::Map<String, serde_json::Value> = rest
        .filter_map(|(key, raw)| Some((key.to_string(), serde_json::from_str(raw.get()).ok()?)))
        .collect();
    (!rest.is_empty()).then(|| serde_json::Value::Object(rest).to_string())
}

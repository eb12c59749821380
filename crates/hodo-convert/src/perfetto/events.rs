//! The events of one process: slices for scopes, counters and instants for marks.

use super::Writer;
use super::names::{Category, Interned, Own};
use super::proto::{AnnotationValue, DebugAnnotation, TracePacket, TrackEvent, event, sequence};
use super::tracks::{Track, Tracks};
use crate::ConvertError;
use crate::lanes::{Ended, Item, Lanes, Place};
use crate::timeline::{self, Group, Timeline};
use hodo_trace::{Cpu, MarkRow, Process, Row, SpanView, Value};
use std::io::Write;

/// Writes the `at`-th process of the run.
pub fn write_process<W: Write>(
    at: usize,
    process: &Process,
    tracks: &mut Tracks<'_>,
    out: &mut Writer<W>,
    on_record: &mut impl FnMut(),
) -> Result<(), ConvertError> {
    let timeline = Timeline::new(process);
    let names = Interned::new(&process.names);
    let sequence = at as u32 + 1;
    let mut page = Page { at, process, timeline, names, sequence, started: false, tracks, out };
    page.out.clocks(sequence, timeline.first_ns())?;
    page.uuid(Track::Process)?;
    for (group, rows) in timeline::groups(process) {
        page.group(group, &rows, on_record)?;
    }
    page.gpu(on_record)?;
    let mut marks = process.marks.iter().enumerate();
    marks.try_for_each(|(place, mark)| page.mark(mark, process.mark_attrs.of(place)))
}

/// What writing one process needs at hand.
pub(super) struct Page<'a, 'o, 'r, W> {
    at: usize,
    pub(super) process: &'a Process,
    pub(super) timeline: Timeline<'a>,
    pub(super) names: Interned<'a>,
    pub(super) sequence: u32,
    started: bool,
    tracks: &'o mut Tracks<'r>,
    out: &'o mut Writer<W>,
}

impl<'a, W: Write> Page<'a, '_, '_, W> {
    pub(super) fn uuid(&mut self, track: Track) -> Result<u64, ConvertError> {
        self.tracks.uuid(self.at, track, self.out)
    }

    fn group(
        &mut self,
        group: Group,
        rows: &[Row],
        on_span: &mut impl FnMut(),
    ) -> Result<(), ConvertError> {
        if let Group::Thread(number) = group {
            self.uuid(Track::Thread(number))?;
        }
        let mut lanes = Lanes::default();
        let mut ended = Vec::new();
        for &row in rows {
            let item = self.timeline.item(row);
            let place = lanes.place(&item, |e| ended.push(e));
            self.ends(group, &mut ended)?;
            self.begin(group, &item, place)?;
            on_span();
        }
        lanes.finish(|e| ended.push(e));
        self.ends(group, &mut ended)
    }

    fn ends(&mut self, group: Group, ended: &mut Vec<Ended>) -> Result<(), ConvertError> {
        for end in ended.drain(..) {
            let track_uuid = Some(self.uuid(Track::of(group, end.lane))?);
            let event =
                TrackEvent { r#type: Some(event::SLICE_END), track_uuid, ..TrackEvent::default() };
            self.event(end.end_ns, event)?;
        }
        Ok(())
    }

    fn begin(&mut self, group: Group, item: &Item, place: Place) -> Result<(), ConvertError> {
        let span = self.process.span(item.row);
        let track_uuid = Some(self.uuid(Track::of(group, place.lane))?);
        let event = TrackEvent {
            r#type: Some(event::SLICE_BEGIN),
            track_uuid,
            name_iid: Some(self.names.event(self.process.spans.name(item.row))),
            category_iids: self.categories(&span),
            debug_annotations: self.annotations(&span, item, place),
            ..TrackEvent::default()
        };
        self.event(item.start_ns, event)
    }

    fn categories(&mut self, span: &SpanView<'_>) -> Vec<u64> {
        let mut categories = vec![self.names.category(Category::Scope)];
        if span.is_failed() {
            categories.push(self.names.category(Category::Failed));
        }
        if span.is_open() {
            categories.push(self.names.category(Category::Open));
        }
        categories
    }

    fn annotations(
        &mut self,
        span: &SpanView<'a>,
        item: &Item,
        place: Place,
    ) -> Vec<DebugAnnotation> {
        let mut all = vec![self.own(Own::ScopeId, AnnotationValue::Pointer(item.id))];
        all.extend(self.parent(item, place));
        if let Some(index) = span.index() {
            all.push(self.own(Own::Index, AnnotationValue::Int(index)));
        }
        all.push(match span.cpu_ns() {
            Cpu::Captured(ns) => self.own(Own::CpuNs, AnnotationValue::Uint(ns)),
            Cpu::Missing(why) => {
                self.own(Own::CpuMissing, AnnotationValue::Text(why.text().to_owned()))
            }
        });
        if span.process.has_overhead() {
            all.push(self.own(Own::Overhead, AnnotationValue::Uint(span.overhead_ns())));
        }
        for (own, holds) in [(Own::Failed, span.is_failed()), (Own::Open, span.is_open())] {
            if holds {
                all.push(self.own(own, AnnotationValue::Bool(true)));
            }
        }
        for attr in span.attrs() {
            let name_iid = Some(self.names.key(attr.key));
            let value = Some(self.value(&attr.value));
            all.push(DebugAnnotation { name_iid, value, ..DebugAnnotation::default() });
        }
        all
    }

    /// Where the parent is, unless the scope is drawn inside it.
    fn parent(&mut self, item: &Item, place: Place) -> Vec<DebugAnnotation> {
        if item.parent != 0 && place.under_parent {
            return Vec::new();
        }
        if item.parent != 0 {
            return vec![self.own(Own::ParentId, AnnotationValue::Pointer(item.parent))];
        }
        let Some((process, scope)) = timeline::started_in(self.process) else { return Vec::new() };
        vec![
            self.own(Own::ParentId, AnnotationValue::Pointer(scope)),
            self.own(Own::ParentProcess, AnnotationValue::Pointer(process)),
        ]
    }

    fn own(&mut self, own: Own, value: AnnotationValue) -> DebugAnnotation {
        DebugAnnotation {
            name_iid: Some(self.names.own(own)),
            value: Some(value),
            ..DebugAnnotation::default()
        }
    }

    fn value(&self, value: &Value) -> AnnotationValue {
        match value {
            Value::I64(v) => AnnotationValue::Int(*v),
            Value::F64(v) => AnnotationValue::Double(*v),
            Value::Bool(v) => AnnotationValue::Bool(*v),
            Value::Json { text, cut: false } if is_json(text) => {
                AnnotationValue::Json(text.to_string())
            }
            other => AnnotationValue::Text(other.display(&self.process.names)),
        }
    }

    /// A point of a numeric series is a counter's value; anything else is an instant, and so are
    /// attributes, which a counter cannot have.
    fn mark(&mut self, mark: &MarkRow, attrs: Option<&Value>) -> Result<(), ConvertError> {
        let thread = timeline::mark_thread(self.process, mark);
        let number = match (&mark.value, mark.summary) {
            (Value::I64(v), false) => Some((Some(*v), None)),
            (Value::F64(v), false) if v.is_finite() => Some((None, Some(*v))),
            _ => None,
        };
        let at_ns = self.timeline.ns(mark.at);
        let Some((counter_value, double_counter_value)) = number else {
            return self.instant(mark, attrs, thread, at_ns);
        };
        if attrs.is_some() {
            self.instant(mark, attrs, thread, at_ns)?;
        }
        let track_uuid = Some(self.uuid(Track::Counter(thread.unwrap_or(0), mark.name))?);
        let r#type = Some(event::COUNTER);
        let event = TrackEvent {
            r#type,
            track_uuid,
            counter_value,
            double_counter_value,
            ..TrackEvent::default()
        };
        self.event(at_ns, event)
    }

    fn instant(
        &mut self,
        mark: &MarkRow,
        attrs: Option<&Value>,
        thread: Option<u32>,
        at_ns: u64,
    ) -> Result<(), ConvertError> {
        let value = match &mark.value {
            // Perfetto's JSON views have no NaN and no infinities.
            Value::F64(v) if !v.is_finite() => AnnotationValue::Text(v.to_string()),
            other => self.value(other),
        };
        let attrs = attrs.map(|attrs| self.own(Own::Attributes, self.value(attrs)));
        let annotations = std::iter::once(self.own(Own::Value, value)).chain(attrs).collect();
        let event = TrackEvent {
            r#type: Some(event::INSTANT),
            track_uuid: Some(self.uuid(thread.map_or(Track::Process, Track::Thread))?),
            name_iid: Some(self.names.event(mark.name)),
            category_iids: vec![self.names.category(Category::Mark)],
            debug_annotations: annotations,
            ..TrackEvent::default()
        };
        self.event(at_ns, event)
    }

    pub(super) fn event(&mut self, at_ns: u64, event: TrackEvent) -> Result<(), ConvertError> {
        let first = if self.started { 0 } else { sequence::CLEARED };
        self.started = true;
        self.out.packet(&TracePacket {
            timestamp: Some(at_ns),
            trusted_packet_sequence_id: Some(self.sequence),
            sequence_flags: Some(sequence::NEEDS_STATE | first),
            interned_data: self.names.take(),
            track_event: Some(event),
            ..TracePacket::default()
        })
    }
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

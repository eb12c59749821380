//! The part of Perfetto's trace format that hodo writes and reads, as prost messages.
//!
//! Field numbers are those of the public `perfetto_trace.proto`; `tests/perfetto_tree.py` reads the
//! result back with Perfetto's own definitions.

use prost::Message;

/// One packet of a trace; a file is a sequence of `Trace.packet` fields.
#[derive(Clone, PartialEq, Message)]
pub struct TracePacket {
    /// Relations between clocks.
    #[prost(message, optional, tag = "6")]
    pub clock_snapshot: Option<ClockSnapshot>,
    /// Nanoseconds on the trace clock.
    #[prost(uint64, optional, tag = "8")]
    pub timestamp: Option<u64>,
    /// Writer whose interned ids this packet uses.
    #[prost(uint32, optional, tag = "10")]
    pub trusted_packet_sequence_id: Option<u32>,
    /// Something that happened.
    #[prost(message, optional, tag = "11")]
    pub track_event: Option<TrackEvent>,
    /// Names used from here on.
    #[prost(message, optional, tag = "12")]
    pub interned_data: Option<InternedData>,
    /// Bits of [`sequence`].
    #[prost(uint32, optional, tag = "13")]
    pub sequence_flags: Option<u32>,
    /// Forget the names interned before, as older writers say it.
    #[prost(bool, optional, tag = "41")]
    pub incremental_state_cleared: Option<bool>,
    /// More packets, in a zlib stream.
    #[prost(bytes = "vec", optional, tag = "50")]
    pub compressed_packets: Option<Vec<u8>>,
    /// The clock of the timestamp, where it is not the trace clock.
    #[prost(uint32, optional, tag = "58")]
    pub timestamp_clock_id: Option<u32>,
    /// What packets of this writer leave out.
    #[prost(message, optional, tag = "59")]
    pub trace_packet_defaults: Option<PacketDefaults>,
    /// A track.
    #[prost(message, optional, tag = "60")]
    pub track_descriptor: Option<TrackDescriptor>,
}

/// What packets of a writer leave out.
#[derive(Clone, PartialEq, Message)]
pub struct PacketDefaults {
    /// What its events leave out.
    #[prost(message, optional, tag = "11")]
    pub track_event_defaults: Option<EventDefaults>,
    /// The clock of its timestamps.
    #[prost(uint32, optional, tag = "58")]
    pub timestamp_clock_id: Option<u32>,
}

/// What events of a writer leave out.
#[derive(Clone, PartialEq, Message)]
pub struct EventDefaults {
    /// Track they are drawn on.
    #[prost(uint64, optional, tag = "11")]
    pub track_uuid: Option<u64>,
}

/// Values of [`TracePacket::sequence_flags`].
pub mod sequence {
    /// Forget the names interned before.
    pub const CLEARED: u32 = 1;
    /// Uses interned names.
    pub const NEEDS_STATE: u32 = 2;
}

/// Readings of several clocks at one moment.
#[derive(Clone, PartialEq, Message)]
pub struct ClockSnapshot {
    /// The readings.
    #[prost(message, repeated, tag = "1")]
    pub clocks: Vec<ClockReading>,
}

/// One reading.
#[derive(Clone, PartialEq, Message)]
pub struct ClockReading {
    /// 1 is wall time, 6 the time since boot, on which Perfetto draws.
    #[prost(uint32, optional, tag = "1")]
    pub clock_id: Option<u32>,
    /// Nanoseconds.
    #[prost(uint64, optional, tag = "2")]
    pub timestamp: Option<u64>,
    /// Each timestamp is the difference to the one before.
    #[prost(bool, optional, tag = "3")]
    pub is_incremental: Option<bool>,
    /// Nanoseconds of its unit.
    #[prost(uint64, optional, tag = "4")]
    pub unit_multiplier_ns: Option<u64>,
}

/// A slice's begin or end, an instant, or a counter's value.
#[derive(Clone, PartialEq, Message)]
pub struct TrackEvent {
    /// Interned categories.
    #[prost(uint64, repeated, packed = "false", tag = "3")]
    pub category_iids: Vec<u64>,
    /// Attributes.
    #[prost(message, repeated, tag = "4")]
    pub debug_annotations: Vec<DebugAnnotation>,
    /// One of [`event`].
    #[prost(int32, optional, tag = "9")]
    pub r#type: Option<i32>,
    /// Interned name.
    #[prost(uint64, optional, tag = "10")]
    pub name_iid: Option<u64>,
    /// Track it is drawn on.
    #[prost(uint64, optional, tag = "11")]
    pub track_uuid: Option<u64>,
    /// Categories spelt out.
    #[prost(string, repeated, tag = "22")]
    pub categories: Vec<String>,
    /// Name spelt out.
    #[prost(string, optional, tag = "23")]
    pub name: Option<String>,
    /// A counter's whole value.
    #[prost(int64, optional, tag = "30")]
    pub counter_value: Option<i64>,
    /// A counter's value.
    #[prost(double, optional, tag = "44")]
    pub double_counter_value: Option<f64>,
    /// Arrows that lead on from here.
    #[prost(fixed64, repeated, packed = "false", tag = "47")]
    pub flow_ids: Vec<u64>,
    /// Arrows that end here.
    #[prost(fixed64, repeated, packed = "false", tag = "48")]
    pub terminating_flow_ids: Vec<u64>,
}

/// Values of [`TrackEvent::type`].
pub mod event {
    /// A slice begins.
    pub const SLICE_BEGIN: i32 = 1;
    /// The innermost slice of the track ends.
    pub const SLICE_END: i32 = 2;
    /// A moment.
    pub const INSTANT: i32 = 3;
    /// A counter's value from here on.
    pub const COUNTER: i32 = 4;
}

/// A named value of an event.
#[derive(Clone, PartialEq, Message)]
pub struct DebugAnnotation {
    /// Interned name.
    #[prost(uint64, optional, tag = "1")]
    pub name_iid: Option<u64>,
    /// Name spelt out.
    #[prost(string, optional, tag = "10")]
    pub name: Option<String>,
    /// The value.
    #[prost(oneof = "AnnotationValue", tags = "2, 3, 4, 5, 6, 7, 9, 17")]
    pub value: Option<AnnotationValue>,
    /// Fields, where the value is an object.
    #[prost(message, repeated, tag = "11")]
    pub dict_entries: Vec<DebugAnnotation>,
    /// Elements, where the value is a list.
    #[prost(message, repeated, tag = "12")]
    pub array_values: Vec<DebugAnnotation>,
}

/// The value of a [`DebugAnnotation`].
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum AnnotationValue {
    /// True or false.
    #[prost(bool, tag = "2")]
    Bool(bool),
    /// A whole number without sign.
    #[prost(uint64, tag = "3")]
    Uint(u64),
    /// A whole number.
    #[prost(int64, tag = "4")]
    Int(i64),
    /// A float.
    #[prost(double, tag = "5")]
    Double(f64),
    /// Text.
    #[prost(string, tag = "6")]
    Text(String),
    /// A number shown in hexadecimal.
    #[prost(uint64, tag = "7")]
    Pointer(u64),
    /// A JSON document.
    #[prost(string, tag = "9")]
    Json(String),
    /// Interned text.
    #[prost(uint64, tag = "17")]
    TextIid(u64),
}

/// Names that later events refer to.
#[derive(Clone, PartialEq, Message)]
pub struct InternedData {
    /// Categories.
    #[prost(message, repeated, tag = "1")]
    pub event_categories: Vec<InternedName>,
    /// Names of events.
    #[prost(message, repeated, tag = "2")]
    pub event_names: Vec<InternedName>,
    /// Names of annotations.
    #[prost(message, repeated, tag = "3")]
    pub debug_annotation_names: Vec<InternedName>,
    /// Values of annotations.
    #[prost(message, repeated, tag = "29")]
    pub debug_annotation_string_values: Vec<InternedText>,
}

/// A text and its number.
#[derive(Clone, PartialEq, Message)]
pub struct InternedText {
    /// Counted from 1.
    #[prost(uint64, optional, tag = "1")]
    pub iid: Option<u64>,
    /// The text.
    #[prost(bytes = "vec", optional, tag = "2")]
    pub text: Option<Vec<u8>>,
}

/// A name and its number.
#[derive(Clone, PartialEq, Message)]
pub struct InternedName {
    /// Counted from 1.
    #[prost(uint64, optional, tag = "1")]
    pub iid: Option<u64>,
    /// The name.
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
}

/// A row of the timeline.
#[derive(Clone, PartialEq, Message)]
pub struct TrackDescriptor {
    /// Its own number.
    #[prost(uint64, optional, tag = "1")]
    pub uuid: Option<u64>,
    /// Its title.
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
    /// The process it stands for.
    #[prost(message, optional, tag = "3")]
    pub process: Option<ProcessDescriptor>,
    /// The thread it stands for.
    #[prost(message, optional, tag = "4")]
    pub thread: Option<ThreadDescriptor>,
    /// The track it is drawn under.
    #[prost(uint64, optional, tag = "5")]
    pub parent_uuid: Option<u64>,
    /// Its title, where it never changes.
    #[prost(string, optional, tag = "10")]
    pub static_name: Option<String>,
    /// Set when the track is a counter.
    #[prost(message, optional, tag = "8")]
    pub counter: Option<CounterDescriptor>,
    /// Never merge with a track of the same name: they would overlap.
    #[prost(int32, optional, tag = "15")]
    pub sibling_merge_behavior: Option<i32>,
}

/// [`TrackDescriptor::sibling_merge_behavior`]: keep tracks of the same name apart.
pub const MERGE_NONE: i32 = 2;

/// A process.
#[derive(Clone, PartialEq, Message)]
pub struct ProcessDescriptor {
    /// Its id.
    #[prost(int32, optional, tag = "1")]
    pub pid: Option<i32>,
    /// Its command line.
    #[prost(string, repeated, tag = "2")]
    pub cmdline: Vec<String>,
    /// Its name.
    #[prost(string, optional, tag = "6")]
    pub process_name: Option<String>,
    /// Words shown beside its name.
    #[prost(string, repeated, tag = "8")]
    pub process_labels: Vec<String>,
}

/// A thread.
#[derive(Clone, PartialEq, Message)]
pub struct ThreadDescriptor {
    /// Its process.
    #[prost(int32, optional, tag = "1")]
    pub pid: Option<i32>,
    /// Its id.
    #[prost(int64, optional, tag = "2")]
    pub tid: Option<i64>,
    /// Its name.
    #[prost(string, optional, tag = "5")]
    pub thread_name: Option<String>,
}

/// A counter; its values stand in the events.
#[derive(Clone, PartialEq, Message)]
pub struct CounterDescriptor {
    /// What its values are in.
    #[prost(string, optional, tag = "6")]
    pub unit_name: Option<String>,
    /// What values are multiplied by.
    #[prost(int64, optional, tag = "4")]
    pub unit_multiplier: Option<i64>,
    /// Each value is the difference to the one before.
    #[prost(bool, optional, tag = "5")]
    pub is_incremental: Option<bool>,
}

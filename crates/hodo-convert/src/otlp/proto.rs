//! The part of OTLP's trace messages that hodo writes and the answer it reads, as prost messages.
//!
//! Field numbers are those of the public `opentelemetry-proto`; a test decodes what is sent with
//! OpenTelemetry's own definitions.

use prost::Message;

/// What is posted to a collector; several one after another are one too.
#[derive(Clone, PartialEq, Message)]
pub struct Request {
    /// Spans by who recorded them.
    #[prost(message, repeated, tag = "1")]
    pub resource_spans: Vec<ResourceSpans>,
}

/// Spans of one process.
#[derive(Clone, PartialEq, Message)]
pub struct ResourceSpans {
    /// The process.
    #[prost(message, optional, tag = "1")]
    pub resource: Option<Resource>,
    /// Its spans.
    #[prost(message, repeated, tag = "2")]
    pub scope_spans: Vec<ScopeSpans>,
}

/// Who recorded.
#[derive(Clone, PartialEq, Message)]
pub struct Resource {
    /// What is known of it.
    #[prost(message, repeated, tag = "1")]
    pub attributes: Vec<KeyValue>,
}

/// Spans of one library.
#[derive(Clone, PartialEq, Message)]
pub struct ScopeSpans {
    /// The library.
    #[prost(message, optional, tag = "1")]
    pub scope: Option<Library>,
    /// The spans.
    #[prost(message, repeated, tag = "2")]
    pub spans: Vec<Span>,
}

/// A library that records.
#[derive(Clone, PartialEq, Message)]
pub struct Library {
    /// Its name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Its version.
    #[prost(string, tag = "2")]
    pub version: String,
}

/// A span.
#[derive(Clone, PartialEq, Message)]
pub struct Span {
    /// 16 bytes, the same for all of a run.
    #[prost(bytes = "vec", tag = "1")]
    pub trace_id: Vec<u8>,
    /// 8 bytes.
    #[prost(bytes = "vec", tag = "2")]
    pub span_id: Vec<u8>,
    /// 8 bytes, or none for an outermost one.
    #[prost(bytes = "vec", tag = "4")]
    pub parent_span_id: Vec<u8>,
    /// Its name.
    #[prost(string, tag = "5")]
    pub name: String,
    /// 1: inside a program.
    #[prost(int32, tag = "6")]
    pub kind: i32,
    /// Nanoseconds since 1970.
    #[prost(fixed64, tag = "7")]
    pub start_time_unix_nano: u64,
    /// Nanoseconds since 1970.
    #[prost(fixed64, tag = "8")]
    pub end_time_unix_nano: u64,
    /// Its attributes.
    #[prost(message, repeated, tag = "9")]
    pub attributes: Vec<KeyValue>,
    /// Its marks.
    #[prost(message, repeated, tag = "11")]
    pub events: Vec<Event>,
    /// Marks it has besides.
    #[prost(uint32, tag = "12")]
    pub dropped_events_count: u32,
    /// How it ended.
    #[prost(message, optional, tag = "15")]
    pub status: Option<Status>,
}

/// [`Span::kind`]: inside a program.
pub const INTERNAL: i32 = 1;

/// A mark.
#[derive(Clone, PartialEq, Message)]
pub struct Event {
    /// Nanoseconds since 1970.
    #[prost(fixed64, tag = "1")]
    pub time_unix_nano: u64,
    /// Its name.
    #[prost(string, tag = "2")]
    pub name: String,
    /// Its value and attributes.
    #[prost(message, repeated, tag = "3")]
    pub attributes: Vec<KeyValue>,
}

/// How a span ended.
#[derive(Clone, PartialEq, Message)]
pub struct Status {
    /// Why.
    #[prost(string, tag = "2")]
    pub message: String,
    /// 2: it failed.
    #[prost(int32, tag = "3")]
    pub code: i32,
}

/// [`Status::code`]: it failed.
pub const ERROR: i32 = 2;

/// An attribute.
#[derive(Clone, PartialEq, Message)]
pub struct KeyValue {
    /// Its key.
    #[prost(string, tag = "1")]
    pub key: String,
    /// Its value.
    #[prost(message, optional, tag = "2")]
    pub value: Option<AnyValue>,
}

/// A value of any type.
#[derive(Clone, PartialEq, Message)]
pub struct AnyValue {
    /// The value.
    #[prost(oneof = "Any", tags = "1, 2, 3, 4, 5, 6")]
    pub value: Option<Any>,
}

/// The value of an [`AnyValue`].
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum Any {
    /// Text.
    #[prost(string, tag = "1")]
    Text(String),
    /// True or false.
    #[prost(bool, tag = "2")]
    Bool(bool),
    /// A whole number.
    #[prost(int64, tag = "3")]
    Int(i64),
    /// A float.
    #[prost(double, tag = "4")]
    Double(f64),
    /// A list.
    #[prost(message, tag = "5")]
    List(List),
    /// An object.
    #[prost(message, tag = "6")]
    Object(Object),
}

/// A list of values.
#[derive(Clone, PartialEq, Message)]
pub struct List {
    /// The values.
    #[prost(message, repeated, tag = "1")]
    pub values: Vec<AnyValue>,
}

/// An object.
#[derive(Clone, PartialEq, Message)]
pub struct Object {
    /// The fields.
    #[prost(message, repeated, tag = "1")]
    pub values: Vec<KeyValue>,
}

/// What a collector answers.
#[derive(Clone, PartialEq, Message)]
pub struct Response {
    /// What it did not take; none or empty: it took all.
    #[prost(message, optional, tag = "1")]
    pub partial_success: Option<PartialSuccess>,
}

/// What a collector did not take.
#[derive(Clone, PartialEq, Message)]
pub struct PartialSuccess {
    /// Spans it refused.
    #[prost(int64, tag = "1")]
    pub rejected_spans: i64,
    /// Why.
    #[prost(string, tag = "2")]
    pub error_message: String,
}

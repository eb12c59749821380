//! OTLP's JSON, which is protobuf's but for ids in hex digits.

use super::proto::{
    Any, AnyValue, Event, KeyValue, Library, List, Object, Request, Resource, ResourceSpans,
    ScopeSpans, Span, Status,
};
use serde_json::{Value, json};

/// An `ExportTraceServiceRequest` in JSON; what is wrong with it in words.
pub fn request(text: &[u8]) -> Result<Request, String> {
    let document: Value = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    if !document.is_object() {
        return Err("it is no object".to_owned());
    }
    let resource_spans = list(&document["resourceSpans"], resource_spans)?;
    Ok(Request { resource_spans })
}

/// A value as JSON has it.
pub fn value_json(value: &AnyValue) -> Value {
    match &value.value {
        None => Value::Null,
        Some(Any::Text(text)) => json!(text),
        Some(Any::Bool(value)) => json!(value),
        Some(Any::Int(number)) => json!(number),
        Some(Any::Double(number)) => json!(number),
        Some(Any::List(list)) => list.values.iter().map(value_json).collect(),
        Some(Any::Object(object)) => {
            let field = |one: &KeyValue| {
                (one.key.clone(), one.value.as_ref().map_or(Value::Null, value_json))
            };
            Value::Object(object.values.iter().map(field).collect())
        }
    }
}

fn list<T>(value: &Value, each: impl Fn(&Value) -> Result<T, String>) -> Result<Vec<T>, String> {
    match value {
        Value::Null => Ok(Vec::new()),
        Value::Array(all) => all.iter().map(each).collect(),
        other => Err(format!("a list was expected, not {}", kind(other))),
    }
}

fn resource_spans(value: &Value) -> Result<ResourceSpans, String> {
    let resource = value["resource"].is_object().then(|| attributes(&value["resource"]));
    let resource = resource.transpose()?.map(|attributes| Resource { attributes });
    Ok(ResourceSpans { resource, scope_spans: list(&value["scopeSpans"], scope_spans)? })
}

fn scope_spans(value: &Value) -> Result<ScopeSpans, String> {
    let scope = value["scope"].is_object().then(|| Library {
        name: text(&value["scope"]["name"]),
        version: text(&value["scope"]["version"]),
    });
    Ok(ScopeSpans { scope, spans: list(&value["spans"], span)? })
}

fn span(value: &Value) -> Result<Span, String> {
    let status = value["status"].is_object().then(|| Status {
        message: text(&value["status"]["message"]),
        code: value["status"]["code"].as_i64().unwrap_or(0) as i32,
    });
    Ok(Span {
        trace_id: bytes(&value["traceId"])?,
        span_id: bytes(&value["spanId"])?,
        parent_span_id: bytes(&value["parentSpanId"])?,
        name: text(&value["name"]),
        kind: value["kind"].as_i64().unwrap_or(0) as i32,
        start_time_unix_nano: whole(&value["startTimeUnixNano"])?,
        end_time_unix_nano: whole(&value["endTimeUnixNano"])?,
        attributes: attributes(value)?,
        events: list(&value["events"], event)?,
        dropped_events_count: value["droppedEventsCount"].as_u64().unwrap_or(0) as u32,
        status,
    })
}

fn event(value: &Value) -> Result<Event, String> {
    let (time_unix_nano, name) = (whole(&value["timeUnixNano"])?, text(&value["name"]));
    Ok(Event { time_unix_nano, name, attributes: attributes(value)? })
}

fn attributes(of: &Value) -> Result<Vec<KeyValue>, String> {
    list(&of["attributes"], key_value)
}

fn key_value(value: &Value) -> Result<KeyValue, String> {
    Ok(KeyValue { key: text(&value["key"]), value: any(&value["value"])? })
}

fn any(value: &Value) -> Result<Option<AnyValue>, String> {
    let Some((kind, value)) = value.as_object().and_then(|object| object.iter().next()) else {
        return Ok(None);
    };
    let found = match kind.as_str() {
        "stringValue" | "bytesValue" => Any::Text(text(value)),
        "boolValue" => Any::Bool(value.as_bool().unwrap_or(false)),
        "intValue" => Any::Int(signed(value)?),
        "doubleValue" => Any::Double(value.as_f64().unwrap_or(f64::NAN)),
        "arrayValue" => {
            let each = |value: &Value| Ok(any(value)?.unwrap_or_default());
            Any::List(List { values: list(&value["values"], each)? })
        }
        "kvlistValue" => Any::Object(Object { values: list(&value["values"], key_value)? }),
        other => return Err(format!("`{other}` is no kind of value")),
    };
    Ok(Some(AnyValue { value: Some(found) }))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Numbers of 64 bits may be text.
fn whole(value: &Value) -> Result<u64, String> {
    match value {
        Value::Null => Ok(0),
        Value::String(text) => text.parse().map_err(|_| format!("`{text}` is no whole number")),
        other => other.as_u64().ok_or_else(|| format!("{} is no whole number", kind(other))),
    }
}

fn signed(value: &Value) -> Result<i64, String> {
    match value {
        Value::String(text) => text.parse().map_err(|_| format!("`{text}` is no whole number")),
        other => other.as_i64().ok_or_else(|| format!("{} is no whole number", kind(other))),
    }
}

/// An id in hex digits.
fn bytes(value: &Value) -> Result<Vec<u8>, String> {
    let Some(text) = value.as_str() else { return Ok(Vec::new()) };
    let digits = text.as_bytes().chunks(2);
    let byte = |pair: &[u8]| {
        let pair = std::str::from_utf8(pair).ok().filter(|pair| pair.len() == 2)?;
        u8::from_str_radix(pair, 16).ok()
    };
    digits.map(byte).collect::<Option<_>>().ok_or_else(|| "an id is hex digits".to_owned())
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

//! The fields of spans and events.

use crate::backend::{self, Handle, Value};
use std::error::Error;
use std::fmt::Debug;
use tracing_core::Level;
use tracing_core::field::{Field, Visit};

/// Sets every field as an attribute of a scope.
pub struct Attributes<'a>(pub &'a Handle);

/// Makes a mark of every field of an event.
pub struct Marks {
    pub level: Level,
}

impl Attributes<'_> {
    fn take(&mut self, field: &Field, value: Value<'_>) {
        self.0.set(backend::intern(field.name()), value);
    }
}

impl Marks {
    fn take(&mut self, field: &Field, value: Value<'_>) {
        let name = match field.name() {
            "message" => level_name(self.level),
            name => name,
        };
        backend::mark(backend::intern(name), value, false);
    }
}

fn level_name(level: Level) -> &'static str {
    match level {
        Level::ERROR => "error",
        Level::WARN => "warn",
        Level::INFO => "info",
        Level::DEBUG => "debug",
        Level::TRACE => "trace",
    }
}

macro_rules! visit {
    ($ty:ty) => {
        impl Visit for $ty {
            fn record_f64(&mut self, field: &Field, value: f64) {
                self.take(field, Value::F64(value));
            }
            fn record_i64(&mut self, field: &Field, value: i64) {
                self.take(field, Value::I64(value));
            }
            fn record_u64(&mut self, field: &Field, value: u64) {
                self.take(field, crate::ToValue::to_value(&value));
            }
            fn record_bool(&mut self, field: &Field, value: bool) {
                self.take(field, Value::Bool(value));
            }
            fn record_str(&mut self, field: &Field, value: &str) {
                self.take(field, Value::Text(value));
            }
            fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
                self.take(field, Value::Text(&value.to_string()));
            }
            fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
                self.take(field, Value::Text(&format!("{value:?}")));
            }
        }
    };
}

visit!(Attributes<'_>);
visit!(Marks);

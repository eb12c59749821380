//! Marks with names made at run time.

use crate::backend;
use crate::value::ToValue;
use hodo_record::Value;

/// Attaches a value to the innermost open scope; [`mark!`](crate::mark!) is cheaper for names that
/// are literals.
///
/// ```
/// for (metric, value) in [("bleu", 31.2), ("chrf", 55.0)] {
///     hodo::mark(metric, value);
/// }
/// ```
pub fn mark(name: &str, value: impl ToValue) {
    if backend::is_on() {
        backend::mark(backend::intern(name), value.to_value(), false);
    }
}

/// Like [`mark`], for the one value that stands for its scope.
///
/// ```
/// hodo::summary("accuracy", 0.93);
/// ```
pub fn summary(name: &str, value: impl ToValue) {
    if backend::is_on() {
        backend::mark(backend::intern(name), value.to_value(), true);
    }
}

#[doc(hidden)]
#[inline(always)]
pub fn mark_with(name: u32, value: Value<'_>, summary: bool) {
    backend::mark(name, value, summary);
}

//! What may stand as the value of an attribute or a mark.

use crate::backend::{Site, Value, intern};
use std::borrow::Cow;

/// A value an attribute or a mark can hold: whole numbers, floats, booleans, text, [`Json`].
///
/// It is taken by reference, so `scope!("load", file = path)` leaves `path` with you. Whole numbers
/// above `i64::MAX` are kept as floats.
///
/// ```
/// let file = String::from("part-7.bin");
/// let _s = hodo::scope!("load", file = file, bytes = 4096_u64, cached = false);
/// assert_eq!(file, "part-7.bin");
/// ```
///
/// Anything else goes in by what it has in common with these, often `to_string()`:
///
/// ```
/// use hodo::ToValue;
///
/// struct Shape(usize, usize);
///
/// let _s = hodo::scope!("matmul", shape = format!("{}x{}", 3, 4));
/// ```
pub trait ToValue {
    /// The value as the recorder keeps it.
    #[doc(hidden)]
    fn to_value(&self) -> Value<'_>;
}

/// A JSON document, kept as such: `scope!("eval", config = Json(&text))`.
///
/// The text is not checked; a reader shows it as it is.
///
/// ```
/// let _s = hodo::scope!("eval", config = hodo::Json(r#"{"beam": 4}"#));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Json<'a>(pub &'a str);

/// A literal in a macro call: text costs a word, as it is interned once for the place it stands at.
#[doc(hidden)]
pub trait LiteralValue {
    fn literal_value(self, text: &'static Site) -> Value<'static>;
}

impl LiteralValue for &'static str {
    #[inline(always)]
    fn literal_value(self, text: &'static Site) -> Value<'static> {
        Value::Name(text.id())
    }
}

impl LiteralValue for char {
    #[inline(always)]
    fn literal_value(self, text: &'static Site) -> Value<'static> {
        Value::Name(text.id())
    }
}

/// Both traits for numbers and booleans, which are values as they stand.
macro_rules! plain {
    ($($ty:ty => |$v:ident| $value:expr;)*) => {$(
        impl ToValue for $ty {
            #[inline(always)]
            fn to_value(&self) -> Value<'_> {
                let $v = *self;
                $value
            }
        }

        impl LiteralValue for $ty {
            #[inline(always)]
            fn literal_value(self, _text: &'static Site) -> Value<'static> {
                let $v = self;
                $value
            }
        }
    )*};
}

plain! {
    bool => |v| Value::Bool(v);
    i8 => |v| Value::I64(v.into());
    i16 => |v| Value::I64(v.into());
    i32 => |v| Value::I64(v.into());
    i64 => |v| Value::I64(v);
    isize => |v| Value::I64(v as i64);
    u8 => |v| Value::I64(v.into());
    u16 => |v| Value::I64(v.into());
    u32 => |v| Value::I64(v.into());
    u64 => |v| unsigned(v);
    usize => |v| unsigned(v as u64);
    f32 => |v| Value::F64(v.into());
    f64 => |v| Value::F64(v);
}

#[inline]
fn unsigned(value: u64) -> Value<'static> {
    i64::try_from(value).map_or(Value::F64(value as f64), Value::I64)
}

impl ToValue for str {
    #[inline(always)]
    fn to_value(&self) -> Value<'_> {
        Value::Text(self)
    }
}

impl ToValue for String {
    #[inline(always)]
    fn to_value(&self) -> Value<'_> {
        Value::Text(self)
    }
}

impl ToValue for Cow<'_, str> {
    #[inline(always)]
    fn to_value(&self) -> Value<'_> {
        Value::Text(self)
    }
}

impl ToValue for Json<'_> {
    #[inline(always)]
    fn to_value(&self) -> Value<'_> {
        Value::Json(self.0)
    }
}

impl<T: ToValue + ?Sized> ToValue for &T {
    #[inline(always)]
    fn to_value(&self) -> Value<'_> {
        (**self).to_value()
    }
}

/// The id of a name made at run time, in a macro call.
#[doc(hidden)]
pub fn name_id(name: &(impl AsRef<str> + ?Sized)) -> u32 {
    intern(name.as_ref())
}

/// The index of a scope, from any whole number.
#[doc(hidden)]
#[inline(always)]
pub fn to_index<T: TryInto<i64>>(index: T) -> Option<i64> {
    index.try_into().ok()
}

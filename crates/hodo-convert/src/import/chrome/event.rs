//! One event of a Chrome trace, and the numbers in it.

use serde::Deserialize;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// An event as it stands in the file: every field may be missing or of any type.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Event<'a> {
    #[serde(borrow)]
    pub ph: Option<&'a RawValue>,
    #[serde(borrow)]
    pub name: Option<&'a RawValue>,
    #[serde(borrow)]
    pub cat: Option<&'a RawValue>,
    #[serde(borrow)]
    pub pid: Option<&'a RawValue>,
    #[serde(borrow)]
    pub tid: Option<&'a RawValue>,
    #[serde(borrow)]
    pub ts: Option<&'a RawValue>,
    #[serde(borrow)]
    pub dur: Option<&'a RawValue>,
    #[serde(borrow)]
    pub id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub id2: Option<&'a RawValue>,
    #[serde(borrow)]
    pub args: Option<Args<'a>>,
}

/// Fields of `args` in their order; what is no object has none.
#[derive(Debug, Default)]
pub struct Args<'a>(pub Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Args<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Vec<(Cow<'de, str>, &'de RawValue)>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some((key, value)) = map.next_entry::<Key<'de>, &'de RawValue>()? {
                    fields.push((key.0, value));
                }
                Ok(fields)
            }
        }
        let raw = <&'de RawValue>::deserialize(from)?;
        if !raw.get().starts_with('{') {
            return Ok(Args::default());
        }
        let mut object = serde_json::Deserializer::from_str(raw.get());
        let fields = serde::Deserializer::deserialize_map(&mut object, Fields);
        fields.map(Args).map_err(serde::de::Error::custom)
    }
}

/// A key, borrowed where it has no escapes.
#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'a> Args<'a> {
    /// A field.
    pub fn get(&self, key: &str) -> Option<&'a RawValue> {
        self.0.iter().find(|(k, _)| k == key).map(|(_, value)| *value)
    }

    /// A field that is a whole number, perhaps in quotes.
    pub fn number(&self, key: &str) -> Option<u64> {
        let text = text(self.get(key)?);
        text.parse()
            .ok()
            .or_else(|| text.parse::<f64>().ok().filter(|n| *n >= 0.0).map(|n| n as u64))
    }

    /// A field that is three numbers: `[1, 2, 3]` or `"1, 2, 3"`.
    pub fn three(&self, key: &str) -> [u32; 3] {
        let text = self.get(key).map(text).unwrap_or_default();
        let mut numbers = text.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse().ok());
        std::array::from_fn(|_| numbers.next().unwrap_or(0))
    }
}

/// A value as text: a string without its quotes, anything else as it stands.
pub fn text(raw: &RawValue) -> Cow<'_, str> {
    let json = raw.get();
    match json.strip_prefix('"').and_then(|t| t.strip_suffix('"')) {
        Some(plain) if !plain.contains('\\') => Cow::Borrowed(plain),
        Some(_) => serde_json::from_str(json).map_or(Cow::Borrowed(json), Cow::Owned),
        None => Cow::Borrowed(json),
    }
}

/// No clock is past this: the year 2096, if it counts from 1970.
const LATEST_NS: i64 = 4_000_000_000_000_000_000;

/// Microseconds in decimal as nanoseconds, where that is a possible time; a float would round what a
/// file has to the nanosecond.
pub fn ns(raw: &RawValue) -> Option<i64> {
    let text = text(raw);
    let rounded = || Some((text.parse::<f64>().ok()? * 1000.0).round()).filter(|ns| !ns.is_nan());
    let ns = exact_ns(&text).or_else(|| rounded().map(|ns| ns as i64))?;
    (-LATEST_NS..LATEST_NS).contains(&ns).then_some(ns)
}

fn exact_ns(text: &str) -> Option<i64> {
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let all_digits = |t: &str| t.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || !all_digits(whole) || !all_digits(part) {
        return None;
    }
    let digit = |at: usize| i64::from(part.as_bytes().get(at).map_or(0, |b| b - b'0'));
    let part = 100 * digit(0) + 10 * digit(1) + digit(2) + i64::from(digit(3) >= 5);
    let whole: i64 = whole.parse().ok()?;
    Some(sign * whole.checked_mul(1000)?.checked_add(part)?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]
    use super::*;

    #[test]
    fn times_that_no_clock_has_are_none() {
        let of = |text: &str| ns(&RawValue::from_string(text.to_owned()).unwrap());
        assert_eq!(of("1e3"), Some(1_000_000));
        for text in ["1e30", "-1e30", "5000000000000000.0", "9223372036854775807"] {
            assert_eq!(of(text), None, "{text}");
        }
    }

    #[test]
    fn times_are_exact_to_the_nanosecond() {
        for (text, expected) in [
            ("3875036219552.882", 3_875_036_219_552_882),
            ("1790857026000000.001", 1_790_857_026_000_000_001),
            ("-0.5", -500),
            ("7", 7000),
            ("\"7.25\"", 7250),
            ("1.0005", 1001),
            ("1e3", 1_000_000),
        ] {
            let raw: &RawValue = serde_json::from_str(text).unwrap();
            assert_eq!(ns(raw), Some(expected), "{text}");
        }
        let raw: &RawValue = serde_json::from_str("null").unwrap();
        assert_eq!(ns(raw), None);
    }

    #[test]
    fn fields_of_any_type_are_taken() {
        let event: Event = serde_json::from_str(
            r#"{"ph":"X","name":"a\nb","pid":"Spans","ts":1,"extra":[1],
                "args":{"grid":[1,2,3],"block":"4, 5, 6","n":"7","big":1e3}}"#,
        )
        .unwrap();
        assert_eq!(text(event.name.unwrap()), "a\nb");
        let args = event.args.unwrap();
        assert_eq!((args.three("grid"), args.three("block")), ([1, 2, 3], [4, 5, 6]));
        assert_eq!(
            (args.number("n"), args.number("big"), args.number("x")),
            (Some(7), Some(1000), None)
        );
        let odd: Event = serde_json::from_str(r#"{"args":[1,2]}"#).unwrap();
        assert!(odd.args.unwrap().0.is_empty());
    }
}

//! Metric families in Prometheus' text format, version 0.0.4.

use std::collections::BTreeMap;
use std::fmt::Write;

/// Labels of a sample: names and values.
pub type Labels<'a> = &'a [(&'a str, &'a str)];

/// How the samples of a family are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// A value that goes up and down.
    Gauge,
    /// A sum that grows; the name ends in `_total`.
    Counter,
}

/// Families by their name, each with its samples.
#[derive(Debug, Default)]
pub struct Families(BTreeMap<String, Family>);

#[derive(Debug)]
struct Family {
    help: String,
    kind: Type,
    samples: String,
}

impl Families {
    /// Adds a sample; help and type are those of the family's first.
    pub fn add(&mut self, name: &str, kind: Type, help: &str, labels: Labels<'_>, value: f64) {
        if !value.is_finite() {
            return;
        }
        let family = self.0.entry(name.to_owned()).or_insert_with(|| Family {
            help: help.to_owned(),
            kind,
            samples: String::new(),
        });
        family.samples.push_str(name);
        put_labels(labels, &mut family.samples);
        // Writing to a String cannot fail.
        let _ = writeln!(family.samples, " {value}");
    }

    /// The page.
    pub fn text(&self) -> String {
        let mut out = String::new();
        for (name, family) in &self.0 {
            let kind = match family.kind {
                Type::Gauge => "gauge",
                Type::Counter => "counter",
            };
            let help = family.help.replace('\\', "\\\\").replace('\n', "\\n");
            let _ = write!(out, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
            out.push_str(&family.samples);
        }
        out
    }
}

fn put_labels(labels: Labels<'_>, out: &mut String) {
    let mut between = '{';
    for (name, value) in labels.iter().filter(|(_, value)| !value.is_empty()) {
        out.push(between);
        out.push_str(name);
        out.push_str("=\"");
        for c in value.chars() {
            match c {
                '\\' => out.push_str("\\\\"),
                '"' => out.push_str("\\\""),
                '\n' => out.push_str("\\n"),
                c => out.push(c),
            }
        }
        out.push('"');
        between = ',';
    }
    if between == ',' {
        out.push('}');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_stand_together_and_labels_are_escaped() {
        let mut families = Families::default();
        families.add("b", Type::Gauge, "Second.", &[], 2.0);
        families.add("a_total", Type::Counter, "First\nof two.", &[("x", "a\"b\\c\nd")], 1.5);
        families.add("a_total", Type::Counter, "", &[("x", "é"), ("empty", "")], 1e12);
        families.add("a_total", Type::Counter, "", &[], f64::NAN);
        let expected = "\
# HELP a_total First\\nof two.
# TYPE a_total counter
a_total{x=\"a\\\"b\\\\c\\nd\"} 1.5
a_total{x=\"é\"} 1000000000000
# HELP b Second.
# TYPE b gauge
b 2
";
        assert_eq!(families.text(), expected);
    }
}

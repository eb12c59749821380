//! The HODO variables: those in force, those that make no sense, those nothing reads.

use super::Check;
use crate::term::text;
use hodo::Config;
use std::path::Path;
use std::time::Duration;

/// What a variable takes.
#[derive(Clone, Copy)]
enum Takes {
    /// Any text.
    Text,
    /// One of these words.
    Words(&'static [&'static str]),
    /// Some of these words, with commas between them.
    List(&'static [&'static str]),
    /// A whole number, from and to.
    Whole(u64, u64),
    /// What the recorder can read; in words.
    Number(&'static str),
    /// A scope's id.
    Id,
    /// A library: its path, or a name that the loader knows.
    Library,
}

/// Variables the recorder and this program read.
const VARIABLES: [(&str, Takes); 25] = [
    ("HODO", Takes::Words(&["0", "1", "on", "off", "true", "false", "yes", "no"])),
    ("HODO_APP", Takes::Text),
    ("HODO_CLOCK", Takes::Words(&["auto", "counter", "monotonic"])),
    ("HODO_CPU", Takes::Words(&["auto", "rseq", "perf", "syscall", "off"])),
    ("HODO_CUPTI_PATH", Takes::Library),
    ("HODO_DIR", Takes::Text),
    ("HODO_FLUSH", Takes::Number("a whole number of milliseconds, such as 1000")),
    ("HODO_GPU", Takes::Words(&["auto", "off", "monitor", "trace", "pc-sampling"])),
    ("HODO_GPU_BUFFERS", Takes::Whole(1, u32::MAX as u64)),
    ("HODO_GPU_KINDS", Takes::List(&["kernels", "copies", "sets", "syncs", "memory"])),
    ("HODO_HOOKS", Takes::Text),
    ("HODO_INJECT", Takes::Words(&["0", "1", "on", "off", "true", "false", "yes", "no"])),
    ("HODO_INJECT_PID", Takes::Text),
    ("HODO_LIBRARY", Takes::Library),
    ("HODO_MAX_DEPTH", Takes::Number("a whole number, such as 64")),
    ("HODO_MEMORY", Takes::Number("bytes, such as 64M")),
    ("HODO_PACKAGES", Takes::Text),
    ("HODO_PARENT", Takes::Id),
    ("HODO_PC_BUFFER_MIB", Takes::Whole(1, u32::MAX as u64)),
    ("HODO_PC_ENABLE", Takes::Words(&["early"])),
    ("HODO_PC_FETCH", Takes::Words(&["often"])),
    ("HODO_PC_KERNELS", Takes::Words(&["off"])),
    ("HODO_PC_PERIOD", Takes::Whole(5, 31)),
    ("HODO_RUN", Takes::Text),
    ("HODO_SPOOL_BYTES", Takes::Number("bytes, such as 4G")),
];

/// The check.
pub fn check() -> Check {
    let mut set: Vec<(String, String)> = std::env::vars_os()
        .filter_map(|(k, v)| Some((k.into_string().ok()?, v.to_string_lossy().into_owned())))
        .filter(|(k, _)| k == "HODO" || k.starts_with("HODO_"))
        .collect();
    set.sort();
    check_of(&set)
}

fn check_of(set: &[(String, String)]) -> Check {
    const NAME: &str = "environment";
    if set.is_empty() {
        return Check::ok(NAME, "no HODO variable set: defaults apply");
    }
    let shown: Vec<String> = set.iter().map(|(k, v)| text::safe(&format!("{k}={v}"))).collect();
    let shown = shown.join(" ");
    let wrong: Vec<String> = set.iter().filter_map(|(k, v)| wrong(k, v)).collect();
    let off = set.iter().any(|(k, v)| k == "HODO" && !config(Config::default(), k, v).enabled);
    match (wrong.is_empty(), off) {
        (false, _) => Check::warn(NAME, shown, wrong.join("; ")),
        (_, true) => Check::warn(NAME, format!("{shown}: nothing is recorded"), "unset HODO"),
        _ => Check::ok(NAME, shown),
    }
}

/// What is wrong with a variable, and what would be right.
fn wrong(name: &str, value: &str) -> Option<String> {
    let told = text::safe(&format!("{name}={value}"));
    let Some((_, takes)) = VARIABLES.iter().find(|(known, _)| *known == name) else {
        let known: Vec<&str> = VARIABLES.iter().map(|(known, _)| *known).collect();
        let name = text::safe(name);
        return Some(format!("nothing reads {name}; the variables are {}", known.join(", ")));
    };
    let wants = match takes {
        _ if value.is_empty() => return None,
        Takes::Words(words) if !words.contains(&value) => format!("one of {}", words.join(", ")),
        Takes::List(words) => {
            let known = |word: &&str| words.contains(word);
            let strange = value.split(',').map(str::trim).find(|word| !known(word))?;
            let strange = text::safe(strange);
            return Some(format!("{told}: {strange} is ignored; {name} takes {}", words.join(",")));
        }
        Takes::Whole(least, most)
            if !value.parse().is_ok_and(|n| (*least..=*most).contains(&n)) =>
        {
            format!("a whole number from {least} to {most}")
        }
        Takes::Number(wants) if !is_taken(name, value) => (*wants).to_owned(),
        Takes::Id if !(value.len() == 32 && value.bytes().all(|b| b.is_ascii_hexdigit())) => {
            "the id of a scope, 32 hex digits".to_owned()
        }
        Takes::Library if value.contains('/') && !Path::new(value).is_file() => {
            return Some(format!("{told} names no file; set it to a library that is there"));
        }
        _ => return None,
    };
    Some(format!("{told} is ignored: {name} takes {wants}"))
}

/// Whether the recorder understands a number: from whichever settings it starts, it ends with the same.
fn is_taken(name: &str, value: &str) -> bool {
    let other = Config {
        memory_bytes: 0,
        spool_bytes: 0,
        max_depth: 0,
        flush_interval: Duration::ZERO,
        ..Config::default()
    };
    let numbers = |c: Config| (c.memory_bytes as u64, c.spool_bytes, c.max_depth, c.flush_interval);
    let (one, two) = (config(Config::default(), name, value), config(other, name, value));
    let (one, two) = (numbers(one), numbers(two));
    one.0 == two.0 || one.1 == two.1 || one.2 == two.2 || one.3 == two.3
}

/// `base` with one variable set.
fn config(base: Config, name: &str, value: &str) -> Config {
    base.with_env(|asked| (asked == name).then(|| value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;

    fn checked(set: &[(&str, &str)]) -> Check {
        check_of(&set.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect::<Vec<_>>())
    }

    #[test]
    fn a_misspelt_variable_is_named() {
        let check = checked(&[("HODO_DRI", "x")]);
        assert_eq!(check.state, State::Warn);
        let todo = check.todo.unwrap();
        assert!(todo.contains("nothing reads HODO_DRI") && todo.contains("HODO_DIR"), "{todo}");
        assert_eq!(checked(&[("HODO_DIR", "x")]).state, State::Ok);
        assert_eq!(checked(&[("HODO", "0")]).state, State::Warn);
        assert_eq!(checked(&[("HODO", "off")]).state, State::Warn);
        assert_eq!(checked(&[]).state, State::Ok);
    }

    #[test]
    fn every_bad_value_is_named_with_what_would_be_taken() {
        let bad = [
            ("HODO", "banana", "one of 0, 1"),
            ("HODO_CLOCK", "sundial", "monotonic"),
            ("HODO_CPU", "fast", "rseq"),
            ("HODO_FLUSH", "1.5", "milliseconds"),
            ("HODO_MAX_DEPTH", "abc", "a whole number"),
            ("HODO_MEMORY", "lots", "64M"),
            ("HODO_PARENT", "me", "32 hex digits"),
            ("HODO_PC_PERIOD", "4", "from 5 to 31"),
            ("HODO_SPOOL_BYTES", "-1", "4G"),
        ];
        let all = checked(&bad.map(|(name, value, _)| (name, value))).todo.unwrap();
        for (name, value, wants) in bad {
            let todo = checked(&[(name, value)]).todo.unwrap_or_default();
            assert!(todo.contains(&format!("{name}={value} is ignored")), "{todo}");
            assert!(todo.contains(wants) && all.contains(&todo), "{todo}");
        }
    }

    #[test]
    fn a_library_that_is_not_there_is_named() {
        let missing = checked(&[("HODO_LIBRARY", "/nonexistent/libhodo.so")]);
        assert_eq!(missing.state, State::Warn);
        assert!(missing.todo.unwrap_or_default().contains("names no file"));
        assert_eq!(checked(&[("HODO_LIBRARY", "libhodo.so")]).state, State::Ok);
        assert_eq!(checked(&[("HODO_GPU", "fast")]).state, State::Warn);
        let kinds = checked(&[("HODO_GPU_KINDS", "kernels,copys")]).todo.unwrap_or_default();
        assert!(kinds.contains("copys is ignored") && kinds.contains("kernels,copies,"), "{kinds}");
    }

    #[test]
    fn good_values_are_not_complained_of() {
        for (name, value) in [
            ("HODO", "1"),
            ("HODO_CLOCK", "counter"),
            ("HODO_CPU", "auto"),
            ("HODO_FLUSH", "0"),
            ("HODO_GPU_BUFFERS", "8"),
            ("HODO_GPU_KINDS", "kernels, syncs"),
            ("HODO_PC_PERIOD", "12"),
            ("HODO_MAX_DEPTH", "0"),
            ("HODO_MEMORY", "64MiB"),
            ("HODO_SPOOL_BYTES", "0"),
            ("HODO_PARENT", "0123456789abcdef0123456789ABCDEF"),
            ("HODO_RUN", ""),
        ] {
            let check = checked(&[(name, value)]);
            assert_eq!(check.state, State::Ok, "{name}={value}: {check:?}");
        }
    }
}

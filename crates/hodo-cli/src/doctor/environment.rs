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
    /// The path of a file.
    File,
    /// Frameworks, and what their hooks record.
    Hooks,
    /// How often, and what else is sampled with it.
    Sampling,
    /// The address of a collector.
    Address,
    /// Yes or no, of the command line.
    Consent,
    /// What nobody may see.
    Secret,
}

/// Yes and no, as the recorder understands them.
const SWITCH: Takes = Takes::Words(&["0", "1", "on", "off", "true", "false", "yes", "no"]);

/// Variables that some part of hodo reads.
const VARIABLES: [(&str, Takes); 36] = [
    ("HODO", SWITCH),
    ("HODO_APP", Takes::Text),
    ("HODO_BIN", Takes::File),
    ("HODO_CA", Takes::File),
    ("HODO_CLOCK", Takes::Words(&["auto", "counter", "monotonic"])),
    ("HODO_CPU", Takes::Words(&["auto", "rseq", "perf", "syscall", "off"])),
    ("HODO_CUPTI_PATH", Takes::Library),
    ("HODO_DIR", Takes::Text),
    ("HODO_FLUSH", Takes::Number("a whole number of milliseconds, such as 1000")),
    ("HODO_GPU", Takes::Words(&["auto", "off", "monitor", "trace", "pc-sampling"])),
    ("HODO_GPU_BUFFERS", Takes::Whole(1, u32::MAX as u64)),
    ("HODO_GPU_KINDS", Takes::List(&["kernels", "copies", "sets", "syncs", "memory"])),
    ("HODO_HOOKS", Takes::Hooks),
    ("HODO_INJECT", SWITCH),
    ("HODO_INJECT_PID", Takes::Text),
    ("HODO_LIBRARY", Takes::Library),
    ("HODO_MAX_DEPTH", Takes::Number("a whole number, such as 64")),
    ("HODO_MEMORY", Takes::Number("bytes, such as 64M")),
    ("HODO_NVML", Takes::Library),
    ("HODO_PACKAGES", Takes::Text),
    ("HODO_PAGE_DIR", Takes::Text),
    ("HODO_PARENT", Takes::Id),
    ("HODO_PC_BUFFER_MIB", Takes::Whole(1, u32::MAX as u64)),
    ("HODO_PC_ENABLE", Takes::Words(&["early"])),
    ("HODO_PC_FETCH", Takes::Words(&["often"])),
    ("HODO_PC_KERNELS", Takes::Words(&["off"])),
    ("HODO_PC_PERIOD", Takes::Whole(5, 31)),
    ("HODO_PLAIN_HTTP", Takes::Consent),
    ("HODO_RUN", Takes::Text),
    ("HODO_SERVER", Takes::Address),
    ("HODO_SHIPPER", Takes::Text),
    ("HODO_SPOOL_BYTES", Takes::Number("bytes, such as 4G")),
    ("HODO_SQL", Takes::File),
    ("HODO_TELEMETRY", Takes::Sampling),
    ("HODO_TOKEN", Takes::Secret),
    ("HODO_TOKEN_FILE", Takes::File),
];

/// Yes and no, as the command line understands them.
const YES_AND_NO: [&str; 12] =
    ["1", "0", "true", "false", "yes", "no", "on", "off", "t", "f", "y", "n"];

const NAME: &str = "environment";

/// The check.
pub fn check() -> Check {
    let mut set: Vec<(String, String)> = std::env::vars_os()
        .filter_map(|(k, v)| Some((k.into_string().ok()?, v.to_string_lossy().into_owned())))
        .filter(|(k, _)| k == "HODO" || k.starts_with("HODO_"))
        .collect();
    set.sort();
    let check = check_of(&set);
    let is_told =
        set.iter().any(|(k, v)| OF_SHIPPING.contains(&k.as_str()) && wrong(k, v).is_some());
    match not_shipped().filter(|_| !is_told) {
        Some(why) => {
            let why = format!("{why}; until then nothing is shipped");
            let todo: Vec<String> = check.todo.into_iter().chain([why]).collect();
            Check::warn(NAME, check.found, todo.join("; "))
        }
        None => check,
    }
}

/// What a shipper reads.
const OF_SHIPPING: [&str; 5] =
    ["HODO_CA", "HODO_PLAIN_HTTP", "HODO_SERVER", "HODO_TOKEN", "HODO_TOKEN_FILE"];

/// Why nothing would be shipped although a collector is named: each variable may be good, and not all of
/// them together.
fn not_shipped() -> Option<String> {
    std::env::var_os("HODO_SERVER").filter(|url| !url.is_empty())?;
    crate::ship::hindrance(Path::new("run"))
}

fn check_of(set: &[(String, String)]) -> Check {
    if set.is_empty() {
        return Check::ok(NAME, "no HODO variable set: defaults apply");
    }
    let shown: Vec<String> = set.iter().map(|(k, v)| shown(k, v)).collect();
    let shown = shown.join(" ");
    let wrong: Vec<String> = set.iter().filter_map(|(k, v)| wrong(k, v)).collect();
    let off = set.iter().any(|(k, v)| k == "HODO" && !config(Config::default(), k, v).enabled);
    match (wrong.is_empty(), off) {
        (false, _) => Check::warn(NAME, shown, wrong.join("; ")),
        (_, true) => Check::warn(NAME, format!("{shown}: nothing is recorded"), "unset HODO"),
        _ => Check::ok(NAME, shown),
    }
}

fn takes(name: &str) -> Option<Takes> {
    Some(VARIABLES.iter().find(|(known, _)| *known == name)?.1)
}

/// A variable as whoever sees the terminal or a bug report may read it.
fn shown(name: &str, value: &str) -> String {
    // A misspelt name does not make a secret public.
    let sounds_secret =
        || ["TOKEN", "SECRET", "PASS", "KEY"].iter().any(|word| name.contains(word));
    let value = match takes(name) {
        Some(Takes::Secret) => hodo_ship::shown_token(value),
        None if sounds_secret() => hodo_ship::shown_token(value),
        _ => hodo_ship::shown(value),
    };
    text::safe(&format!("{name}={value}"))
}

/// What is wrong with a variable, and what would be right.
fn wrong(name: &str, value: &str) -> Option<String> {
    let told = shown(name, value);
    let Some(takes) = takes(name) else {
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
        Takes::Whole(least, most) if !value.parse().is_ok_and(|n| (least..=most).contains(&n)) => {
            format!("a whole number from {least} to {most}")
        }
        Takes::Number(wants) if !is_taken(name, value) => wants.to_owned(),
        Takes::Id if !(value.len() == 32 && value.bytes().all(|b| b.is_ascii_hexdigit())) => {
            "the id of a scope, 32 hex digits".to_owned()
        }
        Takes::Library if value.contains('/') && !Path::new(value).is_file() => {
            return Some(format!("{told} names no file; set it to a library that is there"));
        }
        Takes::File if !Path::new(value).exists() => {
            return Some(format!("{told} names no file; set it to one that is there, or unset it"));
        }
        Takes::Hooks => {
            let why = crate::run::hooks::check(value).err()?;
            return Some(format!("{told}: {why}"));
        }
        Takes::Sampling => {
            let why = hodo::Telemetry::parse(value).err()?;
            return Some(format!("{name}: {why}"));
        }
        Takes::Consent if !YES_AND_NO.contains(&value.to_lowercase().as_str()) => {
            let words = YES_AND_NO.join(", ");
            return Some(format!(
                "{told} keeps runs from being shipped; {name} takes one of {words}"
            ));
        }
        Takes::Secret => {
            let why = hodo_ship::Token::new(value).err()?;
            return Some(format!("{name}: {why}; until then nothing is shipped"));
        }
        Takes::Address => {
            let why = hodo_ship::check_address(value).err()?;
            return Some(format!("{name}: {why}; until then nothing is shipped"));
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
    fn no_secret_is_shown() {
        for (name, value, told) in [
            ("HODO_TOKEN", "hodo_fcea0123456789abcdef0123456789", "HODO_TOKEN=hodo_fcea…"),
            ("HODO_TOKEN", "of-another-0123456789abcdef", "HODO_TOKEN=…"),
            ("HODO_TOKEN", "two words 0123456789", "HODO_TOKEN=…"),
            ("HODO_TOKNE_KEY", "0123456789abcdef", "HODO_TOKNE_KEY=…"),
            (
                "HODO_TOKEN_FILE",
                "hodo_fcea0123456789abcdef0123456789",
                "HODO_TOKEN_FILE=hodo_fcea…",
            ),
            ("HODO_SERVER", "https://me:0123456789@a", "HODO_SERVER=https://…@a"),
            ("HODO_SERVER", "me:0123456789@a:7430", "HODO_SERVER=…@a:7430"),
        ] {
            let check = checked(&[(name, value)]);
            assert_eq!(check.found, told);
            let todo = check.todo.unwrap_or_default();
            assert!(!todo.contains("0123456789"), "{todo}");
        }
    }

    #[test]
    fn what_nothing_can_be_made_of_is_named_with_what_to_do() {
        for (name, value, words) in [
            ("HODO_SERVER", "runs.example:7430", "not an address like https://"),
            ("HODO_SERVER", "https://me:hush@a", "must not have a password"),
            ("HODO_TOKEN", "a b", "has characters that no token has"),
            ("HODO_TOKEN_FILE", "/nowhere/token", "names no file"),
            ("HODO_CA", "/nowhere/ca.pem", "names no file"),
            ("HODO_PLAIN_HTTP", "maybe", "takes one of 1, 0"),
            ("HODO_TELEMETRY", "1ns", "a time between readings"),
            ("HODO_HOOKS", "torhc", "`torhc` is neither a framework"),
        ] {
            let check = checked(&[(name, value)]);
            let todo = check.todo.unwrap_or_default();
            assert!(check.state == State::Warn && todo.contains(words), "{name}={value}: {todo}");
        }
    }

    /// Sources of all that is installed.
    const SOURCES: [&str; 5] = ["crates", "python/hodo", "python/native", "cpp/include", "sql/src"];
    /// Variables of our own tests, and of builds that nobody installs.
    const OF_TESTS: [&str; 5] =
        ["HODO_BLESS", "HODO_CUPTI", "HODO_CUPTI_LIBRARY", "HODO_GPU_RECORD", "HODO_TEST_PUMP"];

    fn sources(folder: &Path, found: &mut String) {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            let name = entry.file_name().into_string().unwrap();
            let is_test = matches!(name.as_str(), "tests" | "tests.rs" | "benches" | "examples");
            if path.is_dir() && !is_test {
                sources(&path, found);
            }
            let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
            let is_this = path.ends_with("doctor/environment.rs");
            if matches!(ending, "rs" | "py" | "h" | "hpp") && !is_test && !is_this {
                let text = std::fs::read_to_string(&path).unwrap();
                *found += text.split("\n#[cfg(test)]\nmod tests {").next().unwrap();
            }
        }
    }

    /// Words in quotes that are names of variables.
    fn quoted(text: &str) -> std::collections::BTreeSet<&str> {
        let is_name = |word: &&str| {
            let plain = |c: u8| c.is_ascii_uppercase() || c.is_ascii_digit() || c == b'_';
            *word == "HODO"
                || word.starts_with("HODO_") && word.len() > 5 && word.bytes().all(plain)
        };
        text.split('"').filter(is_name).collect()
    }

    #[test]
    fn every_variable_that_something_reads_is_known_and_no_other() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut text = String::new();
        for folder in SOURCES {
            sources(&root.join(folder), &mut text);
        }
        let read = quoted(&text);
        let known = |name: &&str| takes(name).is_some() || OF_TESTS.contains(name);
        let unknown: Vec<_> = read.iter().filter(|name| !known(name)).collect();
        assert!(unknown.is_empty(), "VARIABLES lacks {unknown:?}");
        for (name, _) in VARIABLES {
            // Those of PC sampling are read by what is behind their common beginning.
            let of_pc = name.strip_prefix("HODO_PC_").map(|rest| format!("(\"{rest}\")"));
            let is_read = read.contains(name) || of_pc.is_some_and(|word| text.contains(&word));
            assert!(is_read, "nothing reads {name}");
        }
        for name in OF_TESTS {
            assert!(read.contains(name), "nothing reads {name}");
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
            ("HODO_PLAIN_HTTP", "Yes"),
            ("HODO_SERVER", "https://runs.example:7430"),
            ("HODO_SHIPPER", "here"),
            ("HODO_TELEMETRY", "50ms,scopes"),
            ("HODO_TOKEN", "hodo_fcea0123456789abcdef0123456789"),
            ("HODO_TOKEN_FILE", "/dev/null"),
        ] {
            let check = checked(&[(name, value)]);
            assert_eq!(check.state, State::Ok, "{name}={value}: {check:?}");
        }
    }
}

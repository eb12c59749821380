use hodo_tests::acks::Acks;
use std::collections::HashMap;
use std::path::Path;
use std::str::FromStr;

/// The command line: a mode, then `key=value` pairs.
pub struct Args {
    pub mode: String,
    values: HashMap<String, String>,
}

impl Args {
    pub fn from_command_line() -> Args {
        let mut words = std::env::args().skip(1);
        let mode = words.next().unwrap_or_default();
        let pair = |word: String| {
            let (key, value) = word.split_once('=').expect("key=value");
            (key.to_owned(), value.to_owned())
        };
        Args { mode, values: words.map(pair).collect() }
    }

    pub fn text(&self, key: &str) -> Option<&str> {
        self.values.get(key).map(String::as_str)
    }

    pub fn number<T: FromStr>(&self, key: &str, otherwise: T) -> T {
        match self.text(key) {
            Some(text) => text.parse().unwrap_or_else(|_| panic!("{key}={text}")),
            None => otherwise,
        }
    }

    pub fn is_set(&self, key: &str) -> bool {
        self.text(key).is_some_and(|value| value != "0")
    }

    pub fn acks(&self) -> Acks {
        Acks::open(Path::new(self.text("acks").expect("acks=FILE"))).expect("acks file")
    }
}

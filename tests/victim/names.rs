use crate::args::Args;
use crate::outcome;
use crate::threads::own_bytes;
use hodo_record::{Config, Site, Value, intern, mark, open_with};
use hodo_tests::acks::bump;
use std::sync::atomic::Ordering;

static GOOD: Site = Site::new("good");
static KEY: Site = Site::new("key");

/// Names, keys and values nobody should use, a well-behaved scope after each; then `distinct`
/// different names.
pub fn run(args: &Args) {
    let acks = args.acks();
    outcome::started(&acks, &hodo_record::init(Config::from_env()));
    for (at, text) in nasty().iter().enumerate() {
        let scope = open_with(intern(text), 0, None);
        scope.set(intern(text), Value::Text(text));
        scope.set(KEY.id(), Value::Json(text));
        mark(intern(text), Value::Text(text), at % 2 == 0);
        scope.close();
        open_with(GOOD.id(), 0, Some(at as i64)).close();
        bump(&acks.lane(0).spans);
    }
    let before = own_bytes();
    let distinct: u64 = args.number("distinct", 0);
    for at in 0..distinct {
        open_with(intern(&format!("name number {at}")), 0, Some(at as i64)).close();
        bump(&acks.lane(0).marks);
    }
    acks.lane(0).values[1].store(own_bytes().saturating_sub(before), Ordering::SeqCst);
    open_with(GOOD.id(), 0, Some(-1)).close();
    outcome::finish(args);
}

fn nasty() -> Vec<String> {
    vec![
        String::new(),
        "x".repeat(10 << 20),
        "nul \0 inside".to_owned(),
        "\x1b[31mred\x1b[0m \x1b]0;title\x07".to_owned(),
        "right to left \u{202e}txet".to_owned(),
        "new\nline\r\ttab".to_owned(),
        "quote \" backslash \\ brace {".to_owned(),
        "é".repeat(5_000),
        "👩‍👩‍👧‍👦".repeat(400),
        "(lost name 3)".to_owned(),
        "../../etc/passwd".to_owned(),
        "</script><script>alert(1)</script>".to_owned(),
    ]
}

//! Opens and closes scopes in a tight loop: for counting instructions and looking at the fast path.

use hodo_record::{Config, Site, Value};

static NAME: Site = Site::new("count");
static KEY: Site = Site::new("lr");
static KIND: Site = Site::new("variant");

#[inline(never)]
fn plain(rounds: u64) {
    for _ in 0..rounds {
        let _scope = hodo_record::open_at(&NAME, None);
    }
}

#[inline(never)]
fn attributes(rounds: u64) {
    for i in 0..rounds {
        let scope = hodo_record::open_at(&NAME, Some(i as i64));
        scope.set_all([(KEY.id(), Value::F64(0.5)), (KIND.id(), Value::Name(KIND.id()))]);
    }
}

/// Two bare readings of the clock, for comparison.
#[inline(never)]
fn floor(rounds: u64) {
    for _ in 0..rounds {
        std::hint::black_box(hodo_record::ClockSource::Counter.now());
        std::hint::black_box(hodo_record::ClockSource::Counter.now());
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let what = arguments.next().unwrap_or_default();
    let rounds: u64 = arguments.next().and_then(|word| word.parse().ok()).unwrap_or(100_000);
    let mut config = Config::from_env();
    config.app = Some("count".into());
    println!("{:?}", hodo_record::init(config));
    for _ in 0..5 {
        let began = std::time::Instant::now();
        match what.as_str() {
            "attributes" => attributes(rounds),
            "floor" => floor(rounds),
            _ => plain(rounds),
        }
        println!("{:.1} ns", began.elapsed().as_nanos() as f64 / rounds as f64);
        println!("{:?}", hodo_record::flush(std::time::Duration::from_secs(5)));
    }
    println!("{:#?}", hodo_record::health());
    println!("{:?}", hodo_record::shutdown());
}

//! A run that grows while it is looked at: recorded by this very process.

use crate::client::{Folder, Served, TRAINING};
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const FLUSH: Duration = Duration::from_secs(60);
const PATIENCE: Duration = Duration::from_secs(300);

/// What the server tells, line by line.
struct Events(BufReader<std::net::TcpStream>);

impl Events {
    fn of(served: &Served) -> Events {
        let mut stream = served.connect();
        let (port, token) = (served.port, &served.token);
        write!(stream, "GET /api/events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n\r\n").unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Events(BufReader::new(stream))
    }

    /// The data of the next event of that name.
    fn next(&mut self, name: &str) -> Value {
        let until = Instant::now() + PATIENCE;
        let mut is_it = false;
        while Instant::now() < until {
            let mut line = String::new();
            assert!(self.0.read_line(&mut line).unwrap() > 0, "the server ended the events");
            match line.trim_end().split_once(": ") {
                Some(("event", event)) => is_it = event == name,
                Some(("data", data)) if is_it => return serde_json::from_str(data).unwrap(),
                _ => {}
            }
        }
        panic!("no event `{name}` came");
    }
}

/// Waits until the list is looked at: what was there at the first look is not told to be new. A run comes
/// and goes until that is told. Gives how often more it may be told, the run being gone.
fn wait_until_watched(folder: &Folder, events: &mut Events) -> usize {
    let aside = Folder::with_training(&[TRAINING]);
    let places = [aside.path().join(TRAINING), folder.path().join(TRAINING)];
    let is_told = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let mover = scope.spawn(|| {
            let until = Instant::now() + PATIENCE;
            let mut moves = 0;
            while !is_told.load(Ordering::SeqCst) && Instant::now() < until {
                std::fs::rename(&places[0], &places[1]).unwrap();
                std::thread::sleep(Duration::from_millis(1200));
                std::fs::rename(&places[1], &places[0]).unwrap();
                std::thread::sleep(Duration::from_millis(1200));
                moves += 2;
            }
            moves
        });
        events.next("runs");
        is_told.store(true, Ordering::SeqCst);
        mover.join().unwrap() - 1
    })
}

fn record(from: i64, to: i64) {
    for index in from..to {
        let _step = hodo::scope!("step", index = index);
        let _inner = hodo::scope!("inner");
        hodo::mark!("loss", 1.0 / (index + 1) as f64);
    }
    hodo::flush(FLUSH);
}

fn slices(tracks: &Value) -> u64 {
    let all = tracks["tracks"].as_array().unwrap().iter().filter(|track| track["kind"] == "thread");
    all.map(|track| track["slices"].as_u64().unwrap()).sum()
}

#[test]
fn a_live_run_grows_on_the_page_and_its_ids_stay() {
    let folder = Folder::new();
    let served = Served::new(folder.path());
    let mut events = Events::of(&served);
    // And of this run its folder, its process and its state, which need not come at once.
    let told_without_growth = wait_until_watched(&folder, &mut events) + 3;
    let config = hodo::Config {
        dir: Some(folder.path().to_owned()),
        app: Some("live".into()),
        ..hodo::Config::default()
    };
    let recording = hodo::init(config);
    record(0, 10);
    events.next("runs");
    let runs = served.json("/api/runs");
    let run = &runs["runs"][0];
    assert_eq!((&run["app"], &run["state"]), (&"live".into(), &"live".into()));
    let id = run["id"].as_str().unwrap().to_owned();
    record(10, 20);
    // Nobody has opened it, and the list is told to be another all the same, whenever it grows.
    for _ in 0..=told_without_growth {
        hodo::mark!("..", -1.0);
        hodo::flush(FLUSH);
        events.next("runs");
    }
    let listed = served.json("/api/runs")["runs"][0].clone();
    assert!(listed["scopes"].as_u64() >= Some(40));
    assert_eq!(listed["main_mark"]["name"], "loss", "its arena is large, its records are not");
    assert!(listed["main_mark_why"].is_null());
    let route = |route: &str| format!("/api/runs/{id}/{route}");
    let before = served.json(&route("tracks"));
    assert!(slices(&before) >= 20, "{before}");
    let hit = served.json(&route("search?q=step&limit=1"))["hits"][0].clone();

    record(20, 50);
    let until = Instant::now() + PATIENCE;
    let after = loop {
        let grew = events.next("grew");
        assert_eq!(grew["run"], id.as_str());
        let after = served.json(&route("tracks"));
        assert!(after["generation"].as_u64() >= grew["generation"].as_u64());
        if slices(&after) >= 100 {
            break after;
        }
        assert!(Instant::now() < until, "{after}");
    };
    assert!(after["generation"].as_u64() > before["generation"].as_u64());
    assert!(after["end_ns"].as_u64() > before["end_ns"].as_u64());
    let names = |of: &Value| of["names"].as_array().unwrap().clone();
    assert_eq!(names(&after)[..names(&before).len()], names(&before)[..]);
    let same = served.json(&route(&format!("spans/{}", hit["id"].as_str().unwrap())));
    for key in ["id", "track", "name", "depth"] {
        assert_eq!(same[key], hit[key], "{key}");
    }
    // Its moments move by a hair: a longer run knows better how long a tick is.
    for key in ["start_ns", "duration_ns"] {
        let apart = same[key].as_u64().unwrap().abs_diff(hit[key].as_u64().unwrap());
        assert!(apart < 1_000_000, "{key}: {} {}", same[key], hit[key]);
    }
    let marks = served.json(&route("mark?name=loss&x=step"));
    assert_eq!(marks["x"].as_array().unwrap().len(), 50);
    assert_eq!(marks["x"][49], 49.0);
    assert_eq!((&marks["not_positive"], &marks["not_number"]), (&0.into(), &0.into()));
    marks_of_a_stretch_have_their_neighbours(&served, &id, &marks);
    let named_as_a_folder = served.json(&route("mark?name=.."));
    assert_eq!(
        (&named_as_a_folder["y"][0], &named_as_a_folder["not_positive"]),
        (&(-1.0).into(), &(told_without_growth + 1).into())
    );

    grows_large(&served, &mut events, &id);

    drop(recording);
    hodo::shutdown();
    let until = Instant::now() + PATIENCE;
    while served.json("/api/runs")["runs"][0]["state"] != "finished" {
        assert!(Instant::now() < until, "the run does not end");
        events.next("runs");
    }
}

/// By step, and over a stretch of time in which no mark was made; fifty are there.
fn marks_of_a_stretch_have_their_neighbours(served: &Served, id: &str, by_step: &Value) {
    let get = |asked: &str| served.json(&format!("/api/runs/{id}/mark?name=loss&{asked}"));
    let some = get("x=step&t0=10&t1=20&max=5");
    assert_eq!(some["x"], serde_json::json!([9.0, 10.0, 12.0, 14.0, 16.0, 18.0, 20.0]));
    assert_eq!((&some["y"][0], &some["y"][6]), (&by_step["y"][9], &by_step["y"][20]));
    let over_time = get("x=time");
    let at = |place: usize| over_time["x"][place].as_f64().unwrap() as i64;
    // The two that are the furthest apart, for a moment between them.
    let first = (0..49).max_by_key(|&place| at(place + 1) - at(place)).unwrap();
    let between = (at(first) + at(first + 1)) / 2;
    let none = get(&format!("t0={between}&t1={}", between + 1));
    assert_eq!(none["y"], serde_json::json!([over_time["y"][first], over_time["y"][first + 1]]));
    let refused = served.get(&format!("/api/runs/{id}/mark?name=loss&t0=9&t1=9"));
    assert_eq!(refused.status, 400);
}

/// Steps recorded by then, those to come, and as many at once.
const STEPS: i64 = 50;
const MANY_STEPS: i64 = 150_000;
const PIECE: usize = 5000;

/// Records on while the page looks: what it shows only ever grows, and in the end has every scope once.
fn grows_large(served: &Served, events: &mut Events, id: &str) {
    let route = |route: &str| format!("/api/runs/{id}/{route}");
    // Piece by piece, so that a busy machine loses none of them.
    let pieces = (STEPS..MANY_STEPS).step_by(PIECE);
    let recorder = std::thread::spawn(move || {
        pieces.for_each(|from| record(from, MANY_STEPS.min(from + PIECE as i64)));
    });
    let until = Instant::now() + PATIENCE;
    let mut seen = 0;
    let all = 2 * MANY_STEPS as u64;
    while seen < all {
        assert!(Instant::now() < until, "{seen} of {all}");
        events.next("grew");
        let now = slices(&served.json(&route("tracks")));
        assert!(now >= seen, "{now} after {seen}");
        assert!(now <= all, "{now} of {all}");
        seen = now;
    }
    recorder.join().unwrap();
    let report = served.json(&route("report"));
    let count = |name: &str| {
        let nodes = report["nodes"].as_array().unwrap().iter();
        nodes.filter(|node| node["name"] == name).map(|n| n["count"].as_i64().unwrap()).sum::<i64>()
    };
    assert_eq!((count("step"), count("inner")), (MANY_STEPS, MANY_STEPS));
    let points = served.json(&route("mark?name=loss&x=step&max=20000"));
    let per_point = points["per_point"].as_i64().unwrap();
    assert_eq!(
        points["x"].as_array().unwrap().len() as i64,
        (MANY_STEPS + per_point - 1) / per_point
    );
}

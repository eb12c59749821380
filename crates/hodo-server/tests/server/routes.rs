//! What the routes say of a run that was recorded on an H200.

use crate::client::{Folder, Served, TRAINING};
use hodo_trace::{Filter, ReadOptions, Run, by_total, document, tree};
use serde_json::{Value, json};
use std::collections::BTreeMap;

struct Training {
    served: Served,
    folder: Folder,
}

impl Training {
    fn new() -> Training {
        let folder = Folder::with_training(&[TRAINING, "again"]);
        Training { served: Served::new(folder.path()), folder }
    }

    fn get(&self, route: &str) -> Value {
        self.served.json(&format!("/api/runs/{TRAINING}/{route}"))
    }

    fn run(&self) -> Run {
        Run::open(&self.folder.path().join(TRAINING), &ReadOptions::default()).unwrap()
    }

    fn tile(&self, track: &str, t0: i64, t1: i64, res: i64, filter: &str) -> Vec<Drawn> {
        let path = format!(
            "/api/runs/{TRAINING}/tiles?track={track}&t0={t0}&t1={t1}&res={res}&filter={filter}"
        );
        let answer = self.served.get(&path);
        assert_eq!(answer.status, 200, "{}", answer.text());
        decoded(&answer.body)
    }
}

/// A box of a tile.
#[derive(Clone, Debug, PartialEq)]
struct Drawn {
    start_ns: f64,
    duration_ns: f64,
    id: u64,
    name: u32,
    count: u32,
    depth: u16,
    busy: u8,
    flags: u8,
}

/// By the description of the format, not by the code that writes it.
fn decoded(tile: &[u8]) -> Vec<Drawn> {
    assert_eq!(&tile[..4], b"HTL1");
    let word = |at: usize| u32::from_le_bytes(tile[at..at + 4].try_into().unwrap());
    let count = word(4) as usize;
    let mut at = 24;
    let mut column = |width: usize| {
        let from = at;
        at += (count * width).next_multiple_of(8);
        move |row: usize| &tile[from + row * width..from + (row + 1) * width]
    };
    let (start, duration, id) = (column(8), column(8), column(8));
    let (name, slices, depth, busy, flags) =
        (column(4), column(4), column(2), column(1), column(1));
    let tags = (count * 4).next_multiple_of(8);
    assert!(at == tile.len() || at + tags == tile.len(), "the tags are the last, if any has one");
    let float = |bytes: &[u8]| f64::from_le_bytes(bytes.try_into().unwrap());
    let number = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().unwrap());
    (0..count)
        .map(|row| Drawn {
            start_ns: float(start(row)),
            duration_ns: float(duration(row)),
            id: u64::from_le_bytes(id(row).try_into().unwrap()),
            name: number(name(row)),
            count: number(slices(row)),
            depth: u16::from_le_bytes(depth(row).try_into().unwrap()),
            busy: busy(row)[0],
            flags: flags(row)[0],
        })
        .collect()
}

fn rows<'a>(of: &'a Value, key: &str) -> &'a Vec<Value> {
    of[key].as_array().unwrap()
}

#[test]
fn runs_are_listed_searched_and_filtered() {
    let training = Training::new();
    let runs = training.served.json("/api/runs");
    assert_eq!(rows(&runs, "runs").len(), 2);
    let row = rows(&runs, "runs").iter().find(|row| row["id"] == TRAINING).unwrap();
    assert_eq!(
        (&row["app"], &row["state"], &row["gpu_work"]),
        (&json!("dl"), &json!("finished"), &json!(6744))
    );
    let count =
        |query: &str| rows(&training.served.json(&format!("/api/runs?{query}")), "runs").len();
    assert_eq!(count("q=again"), 1);
    assert_eq!(count("q=train.py"), 2);
    assert_eq!(count("q=nothing-like-it"), 0);
    assert_eq!(count("filter=gpu_work%3E6000+app=dl"), 2);
    assert_eq!(count("filter=gpu_work%3E7000"), 0);
    assert_eq!(count("filter=host=vm"), 2);
}

#[test]
fn the_report_is_that_of_the_command_line() {
    let training = Training::new();
    let mut report = training.get("report");
    assert!(report.as_object_mut().unwrap().remove("kernels").is_some());
    let run = training.run();
    let tree = tree(&run, &Filter::default());
    assert_eq!(report, document(&run, &Filter::default(), &tree, &by_total(&tree), 5));
}

#[test]
fn tiles_of_every_level_hold_every_slice_once() {
    let training = Training::new();
    let tracks = training.get("tracks");
    let end = tracks["end_ns"].as_i64().unwrap();
    for track in
        rows(&tracks, "tracks").iter().filter(|t| t["kind"] == "thread" || t["kind"] == "stream")
    {
        let id = track["id"].as_str().unwrap();
        for res in [1_i64 << 30, 1 << 22, 1 << 18] {
            let width = res * 4096;
            let mut slices = 0;
            for window in 0..=end / width {
                let boxes = training.tile(id, window * width, (window + 1) * width, res, "");
                let own = |one: &&Drawn| one.start_ns >= (window * width) as f64;
                slices += boxes.iter().filter(own).map(|one| u64::from(one.count)).sum::<u64>();
                assert!(
                    boxes
                        .iter()
                        .all(|one| u64::from(one.depth) < track["depths"].as_u64().unwrap())
                );
            }
            assert_eq!(Some(slices), track["slices"].as_u64(), "track {id} at {res}");
        }
    }
}

#[test]
fn nested_scopes_have_their_depths_and_names() {
    let training = Training::new();
    let tracks = training.get("tracks");
    let names = rows(&tracks, "names");
    let boxes = training.tile("1", 0, 12_000_000_000, 1 << 18, "");
    let mut depths: BTreeMap<&str, u16> = BTreeMap::new();
    for one in boxes.iter().filter(|one| one.count == 1) {
        let known = depths.entry(names[one.name as usize].as_str().unwrap()).or_insert(one.depth);
        assert_eq!(*known, one.depth);
    }
    let expected =
        [("backward", 2), ("epoch", 0), ("forward", 2), ("loss", 2), ("optimizer", 2), ("step", 1)];
    assert_eq!(depths, BTreeMap::from(expected));
}

#[test]
fn a_kernel_leads_to_the_scope_that_launched_it_and_back() {
    let training = Training::new();
    let forward = training.get("search?q=forward&limit=1");
    // Kernels have the word in their names too.
    let hits = training.get("search?q=forward&limit=1000");
    assert!(forward["total"].as_u64().unwrap() > 100);
    let scope = rows(&hits, "hits").iter().find(|hit| hit["name"] == "forward").unwrap();
    let detail = training.get(&format!("spans/{}", scope["id"].as_str().unwrap()));
    assert_eq!(detail["path"], json!(["epoch", "step", "forward"]));
    let kernel = &rows(&detail, "kernels")[0];
    let work = training.get(&format!("kernels/{}", kernel["id"].as_str().unwrap()));
    assert_eq!(work["scope"]["path"], json!(["epoch", "step", "forward"]));
    assert_eq!(work["scope"]["id"], scope["id"]);
    assert_eq!(work["launch"]["span"], scope["id"]);
    assert_eq!(work["launched_ns"], kernel["launched_ns"]);
    assert!(work["launched_ns"].as_i64() <= work["start_ns"].as_i64());
    assert!(work["grid"].as_array().is_some_and(|grid| grid.len() == 3));
    let up = training.get(&format!("walk?from={}&to=parent", kernel["id"].as_str().unwrap()));
    assert_eq!(up["id"], scope["id"]);
}

#[test]
fn numbers_of_a_scope_are_those_of_the_report() {
    let training = Training::new();
    let report = training.get("report");
    let epoch = rows(&report, "nodes").iter().find(|n| n["path"] == json!(["epoch"])).unwrap();
    let hits = training.get("search?q=epoch");
    let sum = |key: &str| -> u64 {
        let detail = |hit: &Value| training.get(&format!("spans/{}", hit["id"].as_str().unwrap()));
        rows(&hits, "hits").iter().map(|hit| detail(hit)[key].as_u64().unwrap()).sum()
    };
    let near = |a: u64, b: &Value| a.abs_diff(b.as_u64().unwrap()) <= 4;
    assert!(near(sum("duration_ns"), &epoch["total_ns"]));
    assert!(near(sum("self_ns"), &epoch["self_ns"]));
    assert!(near(sum("gpu_ns"), &epoch["gpu"]["all"]["busy_ns"]));
    let first = training.get(&format!("spans/{}", hits["hits"][0]["id"].as_str().unwrap()));
    assert_eq!(first["instances"]["count"], epoch["count"]);
    assert_eq!(first["instances"]["max_ns"], epoch["durations"]["max_ns"]);
    assert_eq!(first["parent"], Value::Null);
}

#[test]
fn walking_goes_around_and_ends_at_the_edges() {
    let training = Training::new();
    let first = training.get("walk?track=1&at_ns=0");
    assert_eq!((&first["name"], &first["depth"]), (&json!("epoch"), &json!(0)));
    let step = |from: &Value, to: &str| {
        training.get(&format!("walk?from={}&to={to}", from["id"].as_str().unwrap()))
    };
    let child = step(&first, "child");
    assert_eq!(child["name"], "step");
    assert_eq!(step(&step(&child, "next"), "previous"), child);
    assert_eq!(step(&child, "parent"), first);
    let before = training.served.get(&format!(
        "/api/runs/{TRAINING}/walk?from={}&to=previous",
        first["id"].as_str().unwrap()
    ));
    assert_eq!((before.status, before.body.len()), (204, 0));
}

#[test]
fn a_whole_range_is_the_report_and_a_part_is_less() {
    let training = Training::new();
    let (report, whole) = (training.get("report"), training.get("range"));
    for node in rows(&report, "nodes") {
        let row = rows(&whole, "scopes").iter().find(|row| row["path"] == node["path"]).unwrap();
        assert_eq!(row["count"], node["count"]);
        let near = |key: &str, of: &Value| {
            let apart = row[key].as_u64().unwrap().abs_diff(of.as_u64().unwrap());
            assert!(
                apart <= node["count"].as_u64().unwrap(),
                "{key} of {}: {row} {of}",
                node["path"]
            );
        };
        near("total_ns", &node["total_ns"]);
        near("self_ns", &node["self_ns"]);
        near("gpu_ns", &node["gpu"]["all"]["busy_ns"]);
    }
    let kernels =
        |of: &Value| rows(of, "kernels").iter().map(|k| k["count"].as_u64().unwrap()).sum::<u64>();
    assert_eq!(kernels(&whole), 6744);
    assert_eq!((&whole["gpu_devices"], &report["gpu"]["devices"]), (&json!(1), &json!(1)));
    let part = training.get("range?t0=10800000000&t1=11000000000");
    assert!(kernels(&part) > 0 && kernels(&part) < 6744);
    let epoch = rows(&part, "scopes").iter().find(|row| row["path"] == json!(["epoch"])).unwrap();
    assert_eq!((&epoch["total_ns"], &epoch["cpu_ns"]), (&json!(200_000_000), &Value::Null));
    assert!(epoch["cpu_why"].as_str().is_some());
}

#[test]
fn the_flame_is_as_wide_as_the_scopes() {
    let training = Training::new();
    let report = training.get("report");
    for (by, of) in [("wall", "/total_ns"), ("cpu", "/cpu/total_ns"), ("gpu", "/gpu/all/busy_ns")] {
        let flame = training.get(&format!("flame?by={by}"));
        let epoch = rows(&flame, "roots").iter().find(|root| root["name"] == "epoch").unwrap();
        let node = rows(&report, "nodes").iter().find(|n| n["path"] == json!(["epoch"])).unwrap();
        let (is, should) =
            (epoch["value_ns"].as_u64().unwrap(), node.pointer(of).unwrap().as_u64().unwrap());
        assert!(is.abs_diff(should) <= 4, "{by}: {is} {should}");
        let inside: u64 =
            rows(epoch, "children").iter().map(|c| c["value_ns"].as_u64().unwrap()).sum();
        assert!(inside <= is);
    }
}

#[test]
fn the_flames_self_time_is_that_of_the_tables() {
    let training = Training::new();
    let report = training.get("report");
    let of = |by: &str| training.get(&format!("flame?by={by}"))["roots"].clone();
    for (by, own) in [("wall", "/self_ns"), ("gpu", "/gpu/own/busy_ns")] {
        let mut left: Vec<(Vec<Value>, Value)> =
            of(by).as_array().unwrap().iter().map(|root| (Vec::new(), root.clone())).collect();
        let mut seen = 0;
        while let Some((mut path, node)) = left.pop() {
            path.push(node["name"].clone());
            let told =
                rows(&report, "nodes").iter().find(|n| n["path"] == json!(path)).expect("a row");
            let own = told.pointer(own).and_then(Value::as_u64).unwrap_or(0);
            let count = node["count"].as_u64().unwrap();
            let is = node["self_ns"].as_u64().unwrap();
            assert!(is.abs_diff(own) <= 1 + count, "{by} {path:?}: {is} {own}");
            left.extend(rows(&node, "children").iter().map(|child| (path.clone(), child.clone())));
            seen += 1;
        }
        assert!(seen > 3, "{by}: {seen}");
    }
}

#[test]
fn steps_are_those_of_the_loop() {
    let training = Training::new();
    let steps = training.get("steps");
    let report = training.get("report");
    let path = steps["path"].clone();
    let node = rows(&report, "nodes").iter().find(|n| n["path"] == path).unwrap();
    assert_eq!(steps["count"].as_u64(), node["count"].as_u64());
    assert_eq!(steps["durations"], node["durations"]);
    let total: u64 = rows(&steps, "step_ns").iter().map(|ns| ns.as_u64().unwrap()).sum();
    assert!(total.abs_diff(node["total_ns"].as_u64().unwrap()) <= node["count"].as_u64().unwrap());
    for ns in steps["parts"].as_object().unwrap().values() {
        assert_eq!(ns.as_array().unwrap().len(), rows(&steps, "step_ns").len());
    }
}

#[test]
fn a_filter_dims_what_it_drops() {
    let training = Training::new();
    let all = training.tile("1", 0, 12_000_000_000, 1 << 18, "");
    let some = training.tile("1", 0, 12_000_000_000, 1 << 18, "forward");
    assert_eq!(all.len(), some.len());
    let names = training.get("tracks")["names"].clone();
    for (plain, dimmed) in all.iter().zip(&some).filter(|(plain, _)| plain.count == 1) {
        let is_forward = names[plain.name as usize] == "forward";
        assert_eq!(dimmed.flags, plain.flags | if is_forward { 0 } else { 16 });
    }
    let report = training.get("report?filter=forward");
    assert_eq!(report["spans_shown"], 100);
}

#[test]
fn what_recording_took_is_the_command_lines_number_under_a_filter_too() {
    let training = Training::new();
    // Inside of `optimizer` it took nothing, which is a number.
    for (filter, is_nothing) in [("", false), ("step", false), ("optimizer", true)] {
        let report = training.get(&format!("report?filter={filter}"));
        let tree = tree(&training.run(), &filter.parse().unwrap());
        assert_eq!(report["overhead_ns"].as_u64().map(|ns| ns == 0), Some(is_nothing), "{filter}");
        assert_eq!(report["overhead_ns"], json!(tree.overhead_ns()));
        assert_eq!(report["scopes_ns"], json!(tree.scopes_ns()));
    }
}

#[test]
fn a_filter_narrows_every_view() {
    let training = Training::new();
    let total = |route: &str| training.get(route)["total"].as_u64().unwrap();
    assert_eq!(total("search?q=optimizer"), 100);
    assert_eq!(total("search?q=optimizer&filter=forward"), 0);
    assert_eq!(total("search?q=optimizer&filter=step"), 100);
    let steps = training.get("steps");
    let index = rows(&steps, "index")[7].clone();
    let some = training.get(&format!("steps?filter=index={index}"));
    assert!(some["count"].as_u64() < steps["count"].as_u64());
    let flame = training.get("flame?filter=optimizer");
    let epoch = rows(&flame, "roots").iter().find(|root| root["name"] == "epoch").unwrap();
    let step = &rows(epoch, "children")[0];
    let names: Vec<&Value> = rows(step, "children").iter().map(|child| &child["name"]).collect();
    assert_eq!(names, ["optimizer"]);
    let range = training.get("range?filter=optimizer");
    assert_eq!(rows(&range, "scopes").len(), 1);
}

#[test]
fn a_run_is_compared_with_another_as_by_the_command_line() {
    let training = Training::new();
    let compared = training.get("compare/again");
    assert_eq!(compared["comparable"], true);
    let changed = rows(&compared, "scopes").iter().filter(|s| s["judgement"] == "slower").count();
    assert_eq!(changed, 0, "a run is as fast as itself");
    let unlike = training.served.get(&format!("/api/runs/{TRAINING}/compare/none"));
    assert_eq!(unlike.status, 404);
}

#[test]
fn readings_that_are_not_there_say_why() {
    let training = Training::new();
    assert!(training.get("series")["why"].as_str().unwrap().contains("hodo monitor"));
    let marks = training.get("marks");
    for mark in rows(&marks, "marks").iter().filter(|mark| mark["numbers"] != 0) {
        let name = mark["name"].as_str().unwrap();
        let points = training.get(&format!("mark?name={name}&x=step&max=10"));
        assert!(rows(&points, "x").len() <= 10);
    }
    let unnamed = training.served.get(&format!("/api/runs/{TRAINING}/mark"));
    assert_eq!(unnamed.status, 400);
}

#[test]
fn a_run_that_is_too_large_for_the_list_says_so() {
    let training = Training::new();
    let more = training.folder.path().join(TRAINING).join("p492-6483323d/more");
    std::fs::write(more, vec![1; 17 << 20]).unwrap();
    let runs = training.served.json("/api/runs");
    let why = |id: &str| {
        let run = rows(&runs, "runs").iter().find(|run| run["id"] == id).unwrap();
        run["main_mark_why"].as_str().map(str::to_owned)
    };
    assert!(why(TRAINING).is_some_and(|why| why.contains("16 MiB")));
    assert_eq!(why("again"), None);
    assert_eq!(runs["unread"], 0, "it is never read for a list");
}

#[test]
fn the_page_is_there() {
    let training = Training::new();
    let page = training.served.get("/");
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    assert_eq!(training.served.get("/healthz").text(), "ok\n");
    assert!(training.served.json("/api/about")["version"].is_string());
}

#[test]
fn answers_are_compressed_for_whoever_takes_that() {
    let training = Training::new();
    let path = format!("/api/runs/{TRAINING}/report");
    let packed = training.served.ask("GET", &path, &[("Accept-Encoding", "gzip")], "");
    assert_eq!(packed.header("content-encoding"), Some("gzip"));
    assert!(packed.body.len() * 3 < training.served.get(&path).body.len());
}

#[test]
fn any_range_of_whole_numbers_is_answered() {
    let training = Training::new();
    let whole = training.get("range");
    let widest = format!("range?t0={}&t1={}", i64::MIN, i64::MAX - 1);
    assert_eq!(training.get(&widest)["scopes"], whole["scopes"]);
    for (t0, t1) in [(i64::MIN, i64::MIN + 1), (i64::MAX - 1, i64::MAX)] {
        let nothing = training.get(&format!("flame?t0={t0}&t1={t1}"));
        assert_eq!(rows(&nothing, "roots").len(), 0, "{t0}");
    }
}

#[test]
fn what_is_asked_wrongly_is_refused_in_words() {
    let training = Training::new();
    let routes = [
        "tiles?track=x&t0=0&t1=1&res=1",
        "tiles?track=1&t0=zero&t1=1&res=1",
        "tracks?names_from=-1",
        "flame?by=luck",
        "walk?to=up",
        "report?filter=(",
        "report?filter=(index%3D1)",
        "report?filter=variant%3D%22unclosed",
        "flame?filter=index%3E100+or+index%3C5",
        "range?filter=index%3D100..200",
    ];
    for route in routes {
        let answer = training.served.get(&format!("/api/runs/{TRAINING}/{route}"));
        assert_eq!(answer.status, 400, "{route}: {}", answer.text());
        let error: Value = serde_json::from_str(&answer.text()).unwrap();
        assert!(error["error"].as_str().is_some_and(|words| !words.is_empty()), "{route}");
    }
    let answer = training.served.ask("DELETE", "/api/runs", &[], "");
    assert_eq!(answer.status, 405);
    assert!(serde_json::from_str::<Value>(&answer.text()).unwrap()["error"].is_string());
}

#[test]
fn tiles_of_several_tracks_are_those_of_each() {
    let training = Training::new();
    let tracks = training.get("tracks");
    let drawn = |track: &&Value| matches!(track["kind"].as_str(), Some("thread" | "stream"));
    let ids: Vec<&str> =
        rows(&tracks, "tracks").iter().filter(drawn).map(|t| t["id"].as_str().unwrap()).collect();
    assert!(ids.len() > 1);
    let window = format!("t0=0&t1={}&res=65536", 65536_i64 * 4096);
    let tile = |tracks: &str| {
        let path = format!("/api/runs/{TRAINING}/tiles?track={tracks}&{window}");
        training.served.get(&path).body
    };
    let all = tile(&ids.join(","));
    assert_eq!(
        (&all[..4], all[4..8].to_vec()),
        (&b"HTLS"[..], (ids.len() as u32).to_le_bytes().to_vec())
    );
    let mut at = 8;
    for id in ids {
        let bytes = u64::from_le_bytes(all[at..at + 8].try_into().unwrap()) as usize;
        assert_eq!(all[at + 8..at + 8 + bytes], tile(id)[..], "track {id}");
        at += 8 + bytes;
    }
    assert_eq!(at, all.len());
    let many = vec!["1"; 65].join(",");
    let answer = training.served.get(&format!("/api/runs/{TRAINING}/tiles?track={many}&{window}"));
    assert_eq!(answer.status, 400);
}

//! What is known of a run stays known when a later try is refused, and what could not begin is told.

use crate::collector::{Collector, Fault, TOKEN};
use crate::{Run, frames, go};
use hodo_ship::{Mode, ShipError, State, Status, Token, Watch, refuse, ship, status_of};
use std::time::Duration;

fn push(run: &Run, url: &str, token: &str) -> Result<(), ShipError> {
    let mut settings = run.settings(url, Mode::Everything);
    settings.server.token = Token::new(token).unwrap();
    settings.give_up_after = Duration::ZERO;
    go(&settings).map(drop)
}

fn told(run: &Run) -> Status {
    status_of(&run.folder).unwrap()
}

#[test]
fn a_refused_push_of_what_is_there_leaves_it_known() {
    let (run, collector) = (Run::ended(), Collector::start());
    run.ship(&collector).unwrap();
    let done = told(&run);
    assert_eq!(done.state, State::Done);
    assert!(matches!(push(&run, &collector.url, "bad"), Err(ShipError::Unauthorized { .. })));
    assert_eq!(told(&run), done);
    collector.fail(&[Fault::Answer(503, "")]);
    assert!(matches!(push(&run, &collector.url, TOKEN), Err(ShipError::GaveUp { .. })));
    assert_eq!(told(&run), done, "a collector that is away has it still");
    refuse(&run.folder, &collector.url, "no token");
    assert_eq!(told(&run), done);
    push(&run, &collector.url, TOKEN).unwrap();
    assert!(told(&run).updated_ns > done.updated_ns && told(&run).state == State::Done);
}

#[test]
fn what_is_known_is_of_one_collector_and_of_what_was_there() {
    let (run, collector) = (Run::ended(), Collector::start());
    run.ship(&collector).unwrap();
    let other = Collector::start();
    assert!(push(&run, &other.url, "bad").is_err());
    assert_eq!((told(&run).state, &told(&run).server), (State::Stopped, &other.url));
    push(&run, &collector.url, TOKEN).unwrap();
    run.write("spool-000003.hodo", &frames(3, 1));
    assert!(push(&run, &collector.url, "bad").is_err());
    assert_eq!(told(&run).state, State::Stopped, "more was recorded since");
    push(&run, &collector.url, TOKEN).unwrap();
    // It says that it has nothing any more, and takes nothing.
    collector.fail(&[Fault::Amnesia, Fault::Answer(503, "")]);
    assert!(push(&run, &collector.url, TOKEN).is_err());
    assert_eq!(told(&run).state, State::Stopped, "the collector forgot it");
}

#[test]
fn who_follows_a_run_that_was_there_tells_of_more_that_comes() {
    let (run, collector) = (Run::ended(), Collector::start());
    run.ship(&collector).unwrap();
    let done = told(&run);
    // As for a program that joins the run, while its collector is away.
    let refusals = vec![Fault::Answer(503, ""); 3];
    collector.fail(&refusals);
    let seen = std::cell::RefCell::new(Vec::new());
    let progress = |_: &Status| {
        seen.borrow_mut().push(told(&run).state);
        if seen.borrow().len() == 1 {
            run.write("spool-000003.hodo", &frames(3, 1));
        }
    };
    let watch = Watch { progress: &progress, is_expecting: &|| false };
    ship(&run.settings(&collector.url, Mode::Follow), &watch).unwrap();
    assert_eq!(seen.borrow()[..3], [State::Done, State::Waiting, State::Waiting]);
    assert!(told(&run).acknowledged_bytes > done.acknowledged_bytes);
    assert_eq!(told(&run).state, State::Done);
    // Who gives up before more has come ships none of it.
    let mut settings = run.settings(&collector.url, Mode::Follow);
    settings.server.token = Token::new("bad").unwrap();
    assert!(matches!(go(&settings), Err(ShipError::Unauthorized { .. })));
    assert_eq!(told(&run).state, State::Stopped);
}

#[test]
fn what_cannot_begin_is_told_without_secrets() {
    let run = Run::ended();
    let why = "me:hush@runs.example: not an address; hodo_fcea0123456789abcdef0123456789";
    refuse(&run.folder, "me:hush@runs.example", why);
    let told = told(&run);
    assert_eq!((told.state, told.server.as_str()), (State::Stopped, "…@runs.example"));
    let error = told.error.unwrap();
    assert!(error.contains("not an address") && error.contains("hodo_fcea…"), "{error}");
    assert!(!error.contains("hush") && !error.contains("abcdef"), "{error}");
}

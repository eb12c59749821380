//! The spans of a request go into the logs of their runs: all that have room, or none.

use super::open::{Begins, Held};
use super::{Inside, count, folder, lock};
use crate::collect::depot::usage_of_file;
use crate::collect::guard::Caller;
use crate::collect::refusal::Refusal;
use hodo_convert::otlp::proto::{PartialSuccess, Request as Spans};
use prost::Message;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Files and folders of a run and its log, as far as they can be foreseen; they are counted when they
/// are there.
const RUN_FILES: u64 = 12;

/// Runs of a request from which on it waits for others of as many: each of its logs is an open file.
pub(super) const MANY_RUNS: usize = 16;

/// Spans of one run.
pub(super) struct Batch {
    run: String,
    /// The name of the service.
    app: String,
    bytes: Vec<u8>,
    spans: u64,
}

impl Batch {
    pub(super) fn new(run: String, app: String, spans: &Spans) -> Batch {
        Batch { run, app, bytes: spans.encode_to_vec(), spans: count(spans) }
    }

    /// Bytes for what a run that is new has around its spans.
    fn around(&self, inside: &Inside) -> u64 {
        let is_new = inside.depot.usage.of(&self.run) == 0;
        if is_new { RUN_FILES * usage_of_file(Some(0)) } else { 0 }
    }
}

/// Puts the spans of a request into the logs of their runs, and tells what was refused for good. Where
/// some cannot be taken now, for want of room or by a disk that fails, none is kept: all are sent again.
pub(super) fn keep(
    inside: &Inside,
    batches: Vec<Batch>,
    caller: &Caller,
) -> Result<Option<PartialSuccess>, Refusal> {
    let kept = keep_all(inside, batches, caller);
    inside.logs.open.trim();
    kept
}

fn keep_all(
    inside: &Inside,
    mut batches: Vec<Batch>,
    caller: &Caller,
) -> Result<Option<PartialSuccess>, Refusal> {
    let more = batches.iter().map(|batch| batch.bytes.len() as u64 + batch.around(inside)).sum();
    let first = batches.first().map_or("", |batch| &batch.run);
    inside.depot.usage.make_sure(first, caller.id(), caller.most_bytes(), more)?;
    // Whoever else adds to some of them holds them in the same order.
    batches.sort_by(|one, other| one.run.cmp(&other.run));
    let owner = caller.id();
    let places = inside.logs.open.places(batches.iter().map(|batch| batch.run.as_str()));
    let mut held = Held::default();
    let kept = batches.iter().zip(&places).try_for_each(|(batch, place)| {
        let begins = Begins { run: &batch.run, owner, app: &batch.app };
        held.open(place, &begins, &folder(inside, &batch.run))
    });
    let is_full = |batch: &Batch, spans: u64| spans + batch.spans > inside.logs.most_spans;
    let kept = kept.and_then(|()| {
        batches.iter().zip(held.logs()).try_for_each(|(batch, log)| {
            match is_full(batch, log.spans()) {
                true => Ok(()),
                false => Ok(log.append(&batch.bytes, batch.spans)?),
            }
        })
    });
    if let Err(refusal) = kept {
        held.undo(&inside.logs.open);
        return Err(refusal);
    }
    let mut refused: Option<PartialSuccess> = None;
    for (batch, (before, after)) in batches.iter().zip(held.changes()) {
        if before.length == after.length {
            inside.counters.otlp_refused.fetch_add(batch.spans, Ordering::Relaxed);
            let error_message = too_many(&batch.run, before.spans);
            let first = PartialSuccess { rejected_spans: 0, error_message };
            refused.get_or_insert(first).rejected_spans += batch.spans as i64;
        } else {
            added(inside, batch, owner, (before.length, after.length));
        }
    }
    Ok(refused)
}

/// Counts what was put into the log of a run, which is made again.
fn added(inside: &Inside, batch: &Batch, owner: &str, (before, after): (u64, u64)) {
    let Batch { run, app, bytes, spans } = batch;
    let around = batch.around(inside);
    inside.depot.usage.exchange(run, owner, before, after + around);
    inside.counters.stored(bytes.len() as u64);
    inside.counters.otlp_spans.fetch_add(*spans, Ordering::Relaxed);
    lock(&inside.logs.heard).insert(run.clone(), Instant::now());
    lock(&inside.logs.dirty).insert(run.clone(), app.clone());
}

/// Refused, not left out without a word: a sender counts what it could not send.
fn too_many(run: &str, spans: u64) -> String {
    format!(
        "{run} has {spans} spans, and a run cannot have more: give each instance of the service its \
         own service.instance.id, or send fewer; the next day is another run"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collect::CollectorOptions;
    use crate::collect::otlp::open::MOST_OPEN;
    use crate::collect::testing::{Folder, inside, inside_with};
    use hodo_convert::otlp::proto::{ResourceSpans, ScopeSpans, Span};
    use std::sync::Arc;

    fn batch(run: &str, count: usize) -> Batch {
        let scope_spans = vec![ScopeSpans { scope: None, spans: vec![Span::default(); count] }];
        let resource_spans = vec![ResourceSpans { resource: None, scope_spans }];
        Batch::new(run.to_owned(), "api".to_owned(), &Spans { resource_spans })
    }

    fn limit(here: &mut Arc<Inside>) {
        if let Some(inside) = Arc::get_mut(here) {
            inside.logs.most_spans = 5;
        }
    }

    fn spans_of(here: &Inside, run: &str) -> Option<u64> {
        here.logs.open.whole(run, &folder(here, run)).ok().map(|whole| whole.spans)
    }

    #[test]
    fn spans_that_no_run_would_show_are_refused() -> Result<(), Refusal> {
        let folder = Folder::new();
        let mut here = inside(folder.path(), None);
        limit(&mut here);
        let caller = Caller::testing("owner");
        let send = |here: &Inside, count| keep(here, vec![batch("otlp~a", count)], &caller);
        let refused = |sent: Option<PartialSuccess>| sent.map(|refused| refused.rejected_spans);
        assert_eq!(send(&here, 3)?, None);
        assert_eq!(refused(send(&here, 3)?), Some(3));
        assert_eq!(send(&here, 2)?, None);
        // Also after a restart, which counts what is there.
        drop(here);
        let mut here = inside(folder.path(), None);
        limit(&mut here);
        let words = send(&here, 1)?.map(|refused| refused.error_message);
        assert!(words.is_some_and(|words| words.contains("service.instance.id")));
        assert_eq!(here.counters.otlp_refused.load(Ordering::Relaxed), 1);
        Ok(())
    }

    #[test]
    fn a_run_that_is_full_keeps_no_other_of_the_same_request_out() -> Result<(), Refusal> {
        let folder = Folder::new();
        let mut here = inside(folder.path(), None);
        limit(&mut here);
        let caller = Caller::testing("owner");
        keep(&here, vec![batch("otlp~full", 5)], &caller)?;
        let request = ["otlp~a", "otlp~full", "otlp~z"].map(|run| batch(run, 2)).into();
        let refused = keep(&here, request, &caller)?;
        assert_eq!(refused.map(|refused| refused.rejected_spans), Some(2));
        let there = ["otlp~a", "otlp~full", "otlp~z"].map(|run| spans_of(&here, run));
        assert_eq!(there, [Some(2), Some(5), Some(2)]);
        Ok(())
    }

    #[test]
    fn logs_of_a_request_of_many_runs_do_not_stay_open() -> Result<(), Refusal> {
        let folder = Folder::new();
        let here = inside(folder.path(), None);
        let many = || (0..100).map(|run| batch(&format!("otlp~{run:03}"), 1)).collect::<Vec<_>>();
        keep(&here, many(), &Caller::testing("owner"))?;
        assert!(here.logs.open.count() <= MOST_OPEN);
        keep(&here, many(), &Caller::testing("owner"))?;
        assert_eq!(spans_of(&here, "otlp~000"), Some(2));
        Ok(())
    }

    #[test]
    fn a_request_that_there_is_no_room_for_is_kept_in_no_part() -> Result<(), Refusal> {
        let folder = Folder::new();
        let mut options = CollectorOptions::local(folder.path());
        // One run fits, with what is around it.
        options.max_bytes = Some((RUN_FILES + 1) * usage_of_file(Some(0)));
        let here = inside_with(&options, None);
        let caller = Caller::testing("owner");
        let both = || ["otlp~a", "otlp~b"].map(|run| batch(run, 1)).into();
        for _ in 0..3 {
            let refused = keep(&here, both(), &caller).err().map(|refusal| refusal.for_otlp());
            assert_eq!(refused.map(|refusal| refusal.status.as_u16()), Some(503));
            assert_eq!(["otlp~a", "otlp~b"].map(|run| spans_of(&here, run)), [None, None]);
        }
        keep(&here, vec![batch("otlp~a", 1)], &caller)?;
        assert_eq!(spans_of(&here, "otlp~a"), Some(1));
        Ok(())
    }

    #[test]
    fn a_request_is_kept_in_no_part_when_one_of_its_logs_fails() -> Result<(), Refusal> {
        let folder = Folder::new();
        let here = inside(folder.path(), None);
        let caller = Caller::testing("owner");
        keep(&here, vec![batch("otlp~b", 1)], &caller)?;
        let kept = |here: &Inside| ["otlp~a", "otlp~b", "otlp~c"].map(|run| spans_of(here, run));
        let total = here.depot.usage.total();
        // One that no log takes, and then one whose log cannot be.
        let mut long = batch("otlp~c", 1);
        long.bytes = vec![0; 65 << 20];
        for _ in 0..2 {
            let mut request: Vec<Batch> = ["otlp~a", "otlp~b"].map(|run| batch(run, 1)).into();
            request.push(Batch { bytes: std::mem::take(&mut long.bytes), ..batch("otlp~c", 1) });
            let refused = keep(&here, request, &caller).err().map(|refusal| refusal.for_otlp());
            assert_eq!(refused.map(|refusal| refusal.status.as_u16()), Some(503));
            assert_eq!(kept(&here), [None, Some(1), None]);
            assert_eq!((here.depot.usage.total(), lock(&here.logs.dirty).len()), (total, 1));
            let logs = || std::fs::read_dir(folder.path().join("otlp"));
            assert_eq!(logs()?.flatten().filter(|log| log.path().is_dir()).count(), 1);
            std::fs::write(super::folder(&here, "otlp~c"), "no folder")?;
        }
        std::fs::remove_file(super::folder(&here, "otlp~c"))?;
        keep(&here, ["otlp~a", "otlp~b", "otlp~c"].map(|run| batch(run, 1)).into(), &caller)?;
        assert_eq!(kept(&here), [Some(1), Some(2), Some(1)]);
        // And so it is after a restart.
        drop(here);
        assert_eq!(kept(&inside(folder.path(), None)), [Some(1), Some(2), Some(1)]);
        Ok(())
    }
}

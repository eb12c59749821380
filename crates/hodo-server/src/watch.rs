//! Looks whether runs grow and whether new ones come, as long as someone wants to know.

use crate::store::{Event, Listed, Loaded, Store};
use hodo_trace::Follow;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Weak;
use std::time::{Duration, Instant};

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(500);
/// Between two looks at the list: every row of it is made anew when it is told to be another.
const LIST_PAUSE: Duration = Duration::from_secs(1);

/// What was seen last.
#[derive(Default)]
struct Seen {
    runs: Option<HashMap<PathBuf, Listed>>,
    list_at: Option<Instant>,
    followed: HashMap<String, Follow>,
}

/// Watches until the store is gone. On a thread of its own: every look reads files.
pub fn watch(store: &Weak<Store>) {
    let mut seen = Seen::default();
    while let Some(store) = store.upgrade() {
        seen.look(&store);
        drop(store);
        std::thread::sleep(PAUSE);
    }
}

impl Seen {
    fn look(&mut self, store: &Store) {
        if store.events.receiver_count() > 0 {
            self.look_for_runs(store);
            return self.look_at_runs(store);
        }
        self.followed.clear();
        // Who asks for a run before it is there and listens only then is told of it all the same.
        if self.runs.is_none() {
            self.look_for_runs(store);
        }
    }

    /// Whether runs came or went, grew or ended: those too that nobody has opened.
    fn look_for_runs(&mut self, store: &Store) {
        if self.list_at.is_some_and(|at| at.elapsed() < LIST_PAUSE) {
            return;
        }
        self.list_at = Some(Instant::now());
        let before = |folder: &PathBuf| self.runs.as_ref().and_then(|runs| runs.get(folder));
        let folders = store.folders().into_iter();
        let now: HashMap<PathBuf, Listed> = folders
            .map(|folder| {
                let listed = Listed::of(&folder, before(&folder));
                (folder, listed)
            })
            .collect();
        if self.runs.as_ref().is_some_and(|before| *before != now) {
            store.tell(Event::Runs);
        }
        self.runs = Some(now);
    }

    /// A look at what is new costs what is new; only then the run is read again.
    fn look_at_runs(&mut self, store: &Store) {
        let all = store.loaded();
        self.followed.retain(|id, _| all.iter().any(|loaded| loaded.id == *id));
        for loaded in all {
            // A run may also have ended, which adds nothing, or be written by another machine.
            let is_worth =
                !loaded.is_live() || self.has_new(&loaded) || store.has_ended(&loaded.id);
            if is_worth {
                grew(store, &loaded.id, loaded.generation);
            }
        }
    }

    fn has_new(&mut self, loaded: &Loaded) -> bool {
        if let Some(follow) = self.followed.get_mut(&loaded.id) {
            let look = follow.look();
            return look.closed > 0 || look.open > 0 || look.bytes > 0;
        }
        let follow = Follow::new(&loaded.run.folder).ok();
        self.followed.extend(follow.map(|follow| (loaded.id.clone(), follow)));
        true
    }
}

/// Reads a run again and says so, unless it is too early to.
fn grew(store: &Store, id: &str, before: u64) {
    if let Ok(now) = store.refreshed(id)
        && now.generation > before
    {
        let (generation, end_ns) = (now.generation, now.timeline.end_ns);
        store.tell(Event::Grew { run: id.to_owned(), generation, end_ns });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_came_before_anyone_listened_is_told_of() {
        let dir = std::env::temp_dir().join(format!("hodo-watch-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a folder");
        let store = Store::new(&dir);
        let mut seen = Seen::default();
        seen.look(&store);
        let run = dir.join("run");
        std::fs::create_dir(&run).expect("a folder");
        std::fs::write(run.join("run.json"), "{}").expect("a run");
        seen.look(&store);
        let mut heard = store.events.subscribe();
        let until = Instant::now() + Duration::from_secs(60);
        while heard.is_empty() && Instant::now() < until {
            seen.look(&store);
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(matches!(heard.try_recv(), Ok(Event::Runs)));
        let _ = std::fs::remove_dir_all(dir);
    }
}

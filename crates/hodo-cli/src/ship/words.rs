//! How a shipper tells what it does: when that changes, and no more often.

use crate::term::number;
use hodo_ship::{State, Status};
use std::path::Path;

/// What was said last.
#[derive(Default)]
pub struct Told {
    state: Option<State>,
    error: Option<String>,
}

impl Told {
    /// What is new since the last time, in words.
    pub fn news(&mut self, status: &Status) -> Option<String> {
        let is_old = self.state == Some(status.state) && self.error == status.error;
        let before = self.state.replace(status.state);
        let had = std::mem::replace(&mut self.error, status.error.clone());
        match (status.state, &status.error) {
            _ if is_old => None,
            (State::Waiting, Some(why)) if before == Some(State::Waiting) && had.is_some() => {
                // The same trouble in other words is one trouble.
                (had.as_deref().map(kind) != Some(kind(why))).then(|| why.clone())
            }
            (State::Waiting, Some(why)) => {
                let left = number::bytes(status.backlog_bytes);
                Some(format!("{why}; {left} wait, and are sent when it works again"))
            }
            (State::Shipping, Some(why)) => Some(why.clone()),
            (State::Shipping, None) if before == Some(State::Waiting) => {
                Some(format!("{} answers again", status.server))
            }
            _ => None,
        }
    }
}

/// The beginning of a trouble, without numbers that differ each time.
fn kind(why: &str) -> &str {
    why.split(" (").next().unwrap_or(why)
}

/// What there is to say of the shippers of a run, each with its host: none while all is well.
pub fn troubles(run: &Path) -> Vec<(String, String)> {
    let statuses = hodo_ship::statuses(run);
    // What a shipper left behind is there when all of the run was pushed from another host since.
    let is_pushed = |left: &Status| {
        statuses.iter().any(|status| {
            (status.all_hosts && status.state == State::Done)
                && (status.server == left.server && status.updated_ns > left.updated_ns)
        })
    };
    let told = |status: &Status| {
        let words = match hodo_ship::is_gone(run, status) {
            true => Some("not shipped: the shipper is gone; `hodo push` sends the rest".to_owned()),
            false => trouble(status),
        };
        Some((status.host.clone(), words?))
    };
    statuses.iter().filter(|status| !is_pushed(status)).filter_map(told).collect()
}

/// What a shipper says that does not get on.
pub fn trouble(status: &Status) -> Option<String> {
    if status.backlog_bytes == 0 && status.error.is_none() {
        return None;
    }
    let why = status.error.as_deref().unwrap_or("the shipper was stopped");
    match status.state {
        State::Waiting => {
            Some(format!("{} not shipped: {why}", number::bytes(status.backlog_bytes)))
        }
        // The run may have grown since: how much is left nobody knows.
        State::Stopped => Some(format!("not shipped: {why}")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(state: State, error: Option<&str>) -> Status {
        let error = error.map(str::to_owned);
        Status { state, error, server: "http://a".into(), backlog_bytes: 2048, ..Status::default() }
    }

    #[test]
    fn trouble_is_told_when_it_begins_and_when_it_ends() {
        let mut told = Told::default();
        assert_eq!(told.news(&status(State::Shipping, None)), None);
        let began = told.news(&status(State::Waiting, Some("cannot reach http://a: refused")));
        assert!(began.unwrap().starts_with("cannot reach http://a: refused; 2"));
        assert_eq!(
            told.news(&status(State::Waiting, Some("cannot reach http://a: refused"))),
            None
        );
        let other = told.news(&status(State::Waiting, Some("http://a: 507: no room")));
        assert_eq!(other.as_deref(), Some("http://a: 507: no room"));
        let again = told.news(&status(State::Shipping, None));
        assert_eq!(again.as_deref(), Some("http://a answers again"));
        assert_eq!(told.news(&status(State::Shipping, None)), None);
    }

    #[test]
    fn a_list_tells_of_what_is_left_behind() {
        assert_eq!(trouble(&status(State::Shipping, None)), None);
        assert_eq!(trouble(&Status { backlog_bytes: 0, ..status(State::Done, None) }), None);
        let words = trouble(&status(State::Waiting, Some("cannot reach http://a"))).unwrap();
        assert!(words.ends_with("not shipped: cannot reach http://a"), "{words}");
        let words = trouble(&status(State::Stopped, None)).unwrap();
        assert_eq!(words, "not shipped: the shipper was stopped", "no number that may be old");
    }
}

//! Where a process hangs in the run: under the scope of another process that started it.

use crate::{Process, Row};
use hodo_format::record::SpanId;

/// A scope of a run: place of the process, row of the scope.
pub(crate) type Place = (usize, Row);

/// For every process the scope that started it, and the order in which parents come first.
pub(crate) struct Links {
    pub(crate) started_in: Vec<Option<Place>>,
    pub(crate) order: Vec<usize>,
}

impl Links {
    pub(crate) fn new(processes: &[Process]) -> Links {
        let mut started_in: Vec<_> =
            processes.iter().enumerate().map(|(at, p)| find(processes, at, p)).collect();
        let order = parents_first(&mut started_in);
        Links { started_in, order }
    }
}

fn find(processes: &[Process], child: usize, process: &Process) -> Option<Place> {
    let link = process.info.parent.as_ref()?;
    let id = u64::from_str_radix(&link.process, 16).ok()?;
    let span = SpanId(u64::from_str_radix(&link.span, 16).ok()?);
    let at = processes.iter().position(|p| p.process == id).filter(|&at| at != child)?;
    Some((at, processes[at].spans.row_of(span)?))
}

/// Orders processes parents first; a link that closes a circle (damage) is dropped.
fn parents_first(started_in: &mut [Option<Place>]) -> Vec<usize> {
    let mut order = Vec::with_capacity(started_in.len());
    let mut done = vec![false; started_in.len()];
    for first in 0..started_in.len() {
        let mut way = Vec::new();
        let mut next = Some(first);
        while let Some(at) = next.filter(|&at| !done[at]) {
            done[at] = true;
            way.push(at);
            next = started_in[at].map(|place| place.0);
        }
        if let (Some(at), Some(&top)) = (next, way.last())
            && way.contains(&at)
        {
            started_in[top] = None;
        }
        order.extend(way.into_iter().rev());
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parents_come_first_and_circles_are_cut() {
        let mut links = [Some((2, 0)), Some((1, 0)), Some((3, 0)), Some((2, 0)), None];
        let order = parents_first(&mut links);
        let place = |p: usize| order.iter().position(|&o| o == p);
        assert_eq!(order.len(), 5);
        for (child, link) in links.iter().enumerate() {
            if let Some((parent, _)) = link {
                assert!(place(*parent) < place(child), "{parent} before {child} in {order:?}");
            }
        }
        assert_eq!(links.iter().flatten().count(), 2);
    }
}

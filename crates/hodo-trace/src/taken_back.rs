//! Scopes that were taken back, as the wait for a batch that never came: what was recorded inside of one
//! is inside of the scope around it.

use crate::{AttrRow, MarkRow, Names, Value};
use hodo_format::record::{AROUND_KEY, SpanId};
use std::collections::HashMap;

/// Scopes that were taken back, each with the next one around it that was not.
#[derive(Debug, Default)]
pub(crate) struct TakenBack(HashMap<SpanId, SpanId>);

impl TakenBack {
    /// Takes what the recorder says of them out of the attributes.
    pub(crate) fn take(attrs: &mut Vec<AttrRow>, names: &Names) -> TakenBack {
        let mut all = HashMap::new();
        attrs.retain(|attr| match attr.value {
            Value::I64(around) if names.get(attr.key) == Some(AROUND_KEY) => {
                all.insert(attr.span, SpanId(around as u64));
                false
            }
            _ => true,
        });
        TakenBack::from(all)
    }

    /// Of scopes with those around them, which may have been taken back too.
    fn from(around: HashMap<SpanId, SpanId>) -> TakenBack {
        let mut ends: HashMap<SpanId, SpanId> = HashMap::with_capacity(around.len());
        let mut way = Vec::new();
        for &scope in around.keys() {
            let mut at = scope;
            // Each scope is passed once.
            while let (None, Some(next)) = (ends.get(&at), around.get(&at)) {
                ends.insert(at, at);
                way.push(at);
                at = *next;
            }
            match ends.get(&at).copied() {
                // A circle, which only damage makes: who is in it or leads to it stays where it is.
                Some(end) if end == at => way.clear(),
                end => ends.extend(way.drain(..).map(|passed| (passed, end.unwrap_or(at)))),
            }
        }
        TakenBack(ends)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The scope itself, or where it was taken back the next one around it that was not.
    pub(crate) fn around(&self, id: SpanId) -> SpanId {
        self.0.get(&id).copied().unwrap_or(id)
    }

    /// Puts marks where they are then.
    pub(crate) fn move_marks(&self, marks: &mut [MarkRow]) {
        if !self.is_empty() {
            marks.iter_mut().for_each(|mark| mark.span = self.around(mark.span));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_out_of_many_leads_to_the_next_that_stayed() {
        let id = SpanId;
        let chain = (1..100_000).map(|scope| (id(scope), id(scope + 1)));
        let all = TakenBack::from(chain.chain([(id(200_000), id(50_000))]).collect());
        assert!((1..100_000).all(|scope| all.around(id(scope)) == id(100_000)));
        assert_eq!(all.around(id(200_000)), id(100_000));
        assert_eq!(all.around(id(300_000)), id(300_000), "it was not taken back");
    }

    #[test]
    fn a_circle_leads_nowhere() {
        let id = SpanId;
        let circle = [(id(8), id(9)), (id(9), id(8)), (id(7), id(8)), (id(3), id(3))];
        let all = TakenBack::from(circle.into());
        assert_eq!([3, 7, 8, 9].map(|scope| all.around(id(scope))), [3, 7, 8, 9].map(id));
    }
}

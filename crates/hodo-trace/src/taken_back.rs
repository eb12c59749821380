//! Scopes that were taken back, as the wait for a batch that never came: what was recorded inside of one
//! is inside of the scope around it.

use crate::{AttrRow, MarkRow, Names, Value};
use hodo_format::record::{AROUND_KEY, SpanId};
use std::collections::HashMap;

/// Scopes that were taken back, each with the one around it.
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
        TakenBack(all)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The scope itself, or where it was taken back the next one around it that was not.
    pub(crate) fn around(&self, id: SpanId) -> SpanId {
        let mut at = id;
        // More steps than there are lead in a circle, which only damage makes.
        for _ in 0..=self.0.len() {
            match self.0.get(&at) {
                Some(around) => at = *around,
                None => return at,
            }
        }
        id
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
    fn a_circle_leads_nowhere() {
        let id = SpanId;
        let all =
            TakenBack([(id(1), id(2)), (id(2), id(3)), (id(8), id(9)), (id(9), id(8))].into());
        assert_eq!(all.around(id(1)), id(3));
        assert_eq!(all.around(id(4)), id(4));
        assert_eq!(all.around(id(8)), id(8));
    }
}

//! The tags that stand next to names on the timeline.

use super::Stable;
use crate::tree::TAG_KEY;
use crate::{AttrRow, Process, Row};
use std::collections::HashMap;

/// Different tags of a run that boxes carry; of further ones the details tell.
const MOST_TAGS: usize = 4096;
/// Longer ones are for the details too.
const MOST_TAG_BYTES: usize = 200;

/// The numbers of a process's tags, in the same table as names.
#[derive(Debug, Default)]
pub(super) struct TagIds {
    /// String ids of the key; damage may have made several of them.
    keys: Vec<u32>,
    numbers: HashMap<String, u32>,
}

impl TagIds {
    pub(super) fn new(process: &Process, stable: &mut Stable) -> TagIds {
        let keys = process.names.iter().filter(|(_, text)| *text == TAG_KEY).map(|(id, _)| id);
        let mut ids = TagIds { keys: keys.collect(), numbers: HashMap::new() };
        for attr in process.attrs.all() {
            if ids.numbers.len() >= MOST_TAGS {
                break;
            }
            let Some(text) = ids.text(process, attr) else { continue };
            if text.len() <= MOST_TAG_BYTES && !ids.numbers.contains_key(&text) {
                let number = stable.name(&text);
                ids.numbers.insert(text, number);
            }
        }
        ids
    }

    /// The number of the tag of a scope.
    pub(super) fn of(&self, process: &Process, row: Row) -> Option<u32> {
        if self.numbers.is_empty() {
            return None;
        }
        let attrs = process.attrs.of(process.spans.id(row));
        let text = attrs.iter().rev().find_map(|attr| self.text(process, attr))?;
        self.numbers.get(&text).copied()
    }

    /// The text of an attribute that is a tag.
    fn text(&self, process: &Process, attr: &AttrRow) -> Option<String> {
        self.keys.contains(&attr.key).then(|| attr.value.display(&process.names))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::tests::{Drawn, run};
    use crate::{Attrs, Value};
    use hodo_format::record::SpanId;

    #[test]
    fn a_box_that_has_room_carries_the_last_tag_of_its_scope() {
        let drawn: Vec<Drawn> = vec![(0, 1000, None, 0), (10, 8, Some(0), 1), (2000, 500, None, 2)];
        let mut run = run(&drawn);
        run.processes[0].names.insert(9, TAG_KEY);
        let tag = |scope: u64, text: &str| AttrRow {
            span: SpanId::new(1, scope),
            key: 9,
            value: Value::Text { text: text.into(), cut: false },
        };
        let long = "x".repeat(MOST_TAG_BYTES + 1);
        run.processes[0].attrs =
            Attrs::new(vec![tag(1, "old"), tag(1, "new"), tag(2, "narrow"), tag(3, &long)]);
        let mut stable = Stable::default();
        let timeline = run.timeline(&mut stable);
        let tags = |res_ns: u64| -> Vec<Option<String>> {
            let boxes = timeline.boxes(&run, &timeline.tracks[0], [0, 5000], res_ns, None);
            let text = |tag: u32| stable.names()[tag as usize].clone();
            boxes.iter().map(|one| one.tag.map(text)).collect()
        };
        assert_eq!(
            tags(1),
            [Some("new".to_owned()), None, None],
            "one is too long, one too narrow"
        );
        assert_eq!(tags(500), [None, None, None]);
    }
}

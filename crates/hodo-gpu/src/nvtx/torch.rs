//! PyTorch's `emit_nvtx` writes numbers that are others each time into its messages, such as
//! `aten::add, seq = 12, op_id = 7`. They become attributes, so that the name stays one.

use super::event::Pair;
use hodo_record::Site;
use hodo_record::binding::code;

static SEQ: Site = Site::new("seq");
static OP_ID: Site = Site::new("op_id");

/// The numbers of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbers {
    seq: Option<i64>,
    op_id: Option<i64>,
}

impl Numbers {
    /// As attributes; at most two.
    pub fn attributes(self) -> impl Iterator<Item = Pair> {
        let of = |site: &Site, number: Option<i64>| Some((site.id(), code::I64, number? as u64));
        [of(&SEQ, self.seq), of(&OP_ID, self.op_id)].into_iter().flatten()
    }
}

/// The name of an operator and its numbers, if the message is one of `emit_nvtx`.
pub fn split(message: &[u8]) -> Option<(&[u8], Numbers)> {
    let found = [find(message, b", seq = "), find(message, b", op_id = ")];
    let (name_ends, _) = found.into_iter().flatten().min_by_key(|(at, _)| *at)?;
    // -1 stands for no number.
    let [seq, op_id] = found.map(|found| found.map(|(_, number)| number).filter(|n| *n >= 0));
    Some((&message[..name_ends], Numbers { seq, op_id }))
}

/// Where a key stands, and the number behind it; a key without one is a part of the name.
fn find(message: &[u8], key: &[u8]) -> Option<(usize, i64)> {
    let at = message.windows(key.len()).position(|part| part == key)?;
    let rest = &message[at + key.len()..];
    let length = rest.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'-').count();
    let number = std::str::from_utf8(&rest[..length]).ok()?.parse().ok()?;
    (at > 0).then_some((at, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(message: &str) -> Option<(&str, Option<i64>, Option<i64>)> {
        let (name, numbers) = split(message.as_bytes())?;
        Some((std::str::from_utf8(name).unwrap_or("?"), numbers.seq, numbers.op_id))
    }

    #[test]
    fn numbers_leave_the_name() {
        assert_eq!(of("aten::add, seq = 12"), Some(("aten::add", Some(12), None)));
        assert_eq!(of("aten::add, op_id = 7"), Some(("aten::add", None, Some(7))));
        let all = "aten::mm, seq = 1, op_id = 22, sizes = [[2, 3], []], input_op_ids = [(1,0)]";
        assert_eq!(of(all), Some(("aten::mm", Some(1), Some(22))));
        assert_eq!(of("aten::mm, seq = -1"), Some(("aten::mm", None, None)));
    }

    #[test]
    fn other_messages_stay_as_they_are() {
        for message in ["", "forward", "a, seq = x", "a, seq = ", ", seq = 5", "seq = 5"] {
            assert_eq!(of(message), None, "{message}");
        }
        assert_eq!(of("a, seq = 99999999999999999999"), None);
    }
}

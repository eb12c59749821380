//! What a steady victim records, step by step: a pure plan that the victim follows and the test
//! checks against.
//!
//! A step opens `step`, sets the attribute `seq`, at times the attribute `text`, makes the mark
//! `loss`, opens and closes an inner scope (at times one with a name of its own), closes `step`.

/// Name of the outer scope of a step.
pub const STEP: &str = "step";
/// Name of the inner scope of most steps.
pub const INNER: &str = "inner";
/// Key of the attribute every step has.
pub const SEQ: &str = "seq";
/// Key of the text attribute of some steps.
pub const TEXT: &str = "text";
/// Name of the mark every step makes.
pub const LOSS: &str = "loss";

const LANE_BITS: u32 = 40;

/// Lane and step as one number, used as index, attribute value and mark value.
pub fn code(lane: u64, step: u64) -> i64 {
    (lane << LANE_BITS | step) as i64
}

/// Lane and step of a [`code`].
pub fn lane_and_step(code: i64) -> (u64, u64) {
    (code as u64 >> LANE_BITS, code as u64 & ((1 << LANE_BITS) - 1))
}

/// Whether the step sets the text attribute.
pub fn has_text(step: u64) -> bool {
    step.is_multiple_of(16)
}

/// Whether the inner scope has a name that no other scope has.
pub fn is_named(step: u64) -> bool {
    step.is_multiple_of(64)
}

/// The value of the text attribute.
pub fn text(lane: u64, step: u64) -> String {
    format!("text of lane {lane} step {step}")
}

/// The name of the inner scope.
pub fn inner_name(lane: u64, step: u64) -> String {
    if is_named(step) { format!("named-{lane}-{step}") } else { INNER.to_owned() }
}

/// The thread name of a lane.
pub fn thread_name(lane: u64) -> String {
    format!("lane-{lane}")
}

/// Attribute calls made before `step`.
pub fn attrs_before(step: u64) -> u64 {
    step + step.div_ceil(16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attribute_positions_follow_the_plan() {
        let mut made = 0;
        for step in 0..100 {
            assert_eq!(attrs_before(step), made, "step {step}");
            made += 1 + u64::from(has_text(step));
        }
    }

    #[test]
    fn codes_come_back() {
        assert_eq!(lane_and_step(code(7, 123_456)), (7, 123_456));
    }
}

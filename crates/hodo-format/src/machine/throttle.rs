//! Why a GPU's clocks are held down: NVML's bits by name.

/// NVML's bits, and what they mean. Idleness and the clocks that someone asked for hold nothing
/// down, and are left out.
const REASONS: [(u64, &str); 6] = [
    (0x04, "power cap"),
    (0x08, "hardware slowdown"),
    (0x10, "sync boost"),
    (0x20, "thermal slowdown"),
    (0x40, "hardware thermal slowdown"),
    (0x80, "hardware power brake"),
];

/// The names of the reasons in a value of `gpu.throttle`.
pub fn throttle_reasons(bits: u64) -> impl Iterator<Item = &'static str> {
    REASONS.iter().filter(move |(bit, _)| bits & bit != 0).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_clocks_are_not_held_down() {
        assert_eq!(throttle_reasons(0x1 | 0x2 | 0x100).count(), 0);
        let names: Vec<&str> = throttle_reasons(0x44).collect();
        assert_eq!(names, ["power cap", "hardware thermal slowdown"]);
    }
}

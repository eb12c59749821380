use crate::support::record;
use std::time::Duration;

/// Bytes of the arena in use once everything recorded is in the spool.
fn bytes_in_use() -> u64 {
    hodo::flush(Duration::from_secs(60));
    hodo::health().ring_bytes
}

#[test]
fn guards_dropped_out_of_order_leak_no_slots() {
    record(|| {
        let _outer = hodo::scope!("outer");
        let round = || {
            for _ in 0..5_000 {
                let (a, b) = (hodo::begin("a"), hodo::begin("b"));
                let (in_a, in_b) = (a.attach(), b.attach());
                let inside = hodo::scope!("inside");
                drop((in_a, in_b));
                drop(inside);
                let (a, b) = (hodo::scope!("a"), hodo::scope!("b"));
                drop((a, b));
            }
            bytes_in_use()
        };
        let before = round();
        let after = (0..4).map(|_| round()).max();
        // A leak of one slot in each pass would be 300 KiB a round.
        assert!(after < Some(before + 200 * 1024), "{before} bytes became {after:?}");
    });
}

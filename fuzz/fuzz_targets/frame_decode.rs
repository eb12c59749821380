#![no_main]
//! One payload: its kind, whether it is compressed, and its bytes.

use hodo_format::spool::{Decoder, Encoder, FRAME_HEADER_BYTES, FrameHeader};
use hodo_fuzz::Keep;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let [kind, flags, raw @ ..] = data else { return };
    let compressed = flags & 1 != 0;
    let raw_bytes = if compressed { u32::from(*flags) << 8 } else { raw.len() as u32 };
    let mut kept = Keep::default();
    let decoded = Decoder::new().payload(kind % 8, flags & 1, raw_bytes, raw, &mut kept);
    if decoded != Ok(true) {
        assert_eq!(kept, Keep::default(), "part of a payload was delivered");
        return;
    }
    again(&kept);
});

/// Records that were delivered come back when they are encoded anew.
fn again(kept: &Keep) {
    for (thread, first, _, seen, units) in &kept.runs {
        let mut encoder = Encoder::new(1);
        let taken = encoder.push(*thread, *first, units).records();
        assert!(taken <= *seen);
        let mut frame = Vec::new();
        encoder.finish(0, &mut frame);
        let header = FrameHeader::parse(&frame).expect("a header we wrote");
        let mut twice = Keep::default();
        let payload = &frame[FRAME_HEADER_BYTES..];
        let (kind, flags) = (header.kind, header.flags);
        let decoded = Decoder::new().payload(kind, flags, header.raw_bytes, payload, &mut twice);
        assert_eq!(decoded, Ok(true));
        let all: Vec<_> = twice.runs.iter().flat_map(|run| &run.4).collect();
        assert!(taken == 0 || all.iter().copied().eq(units.iter()));
    }
}

let times = hodo::bench("matmul").tag("math").repeat(10).warmup(3).run(|| (0..100).sum::<u64>());
assert_eq!(times.samples_ns.len(), 10);

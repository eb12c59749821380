for epoch in hodo::epochs(0..2) {
    for item in hodo::batches([10, 20, 30]) {
        let _s = hodo::scope!("forward", index = epoch);
        assert!(item > 0);
    }
}

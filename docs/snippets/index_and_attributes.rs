for step in 0..3 {
    let _s = hodo::scope!("forward", index = step, variant = "beam", lr = 0.1);
}

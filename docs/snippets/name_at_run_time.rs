for layer in ["conv1", "conv2", "head"] {
    let _s = hodo::scope(layer);
}

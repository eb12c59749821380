{
    let _forward = hodo::scope!("forward");
    let _attention = hodo::scope!("attention");
}

#[hodo::scoped]
fn forward() -> i32 {
    7
}

assert_eq!(forward(), 7);

//! Runs the snippet that its argument names, recorded.

include!(concat!(env!("OUT_DIR"), "/snippets.rs"));

fn main() {
    let _hodo = hodo::init(hodo::Config::from_env());
    run(&std::env::args().nth(1).unwrap_or_default());
}

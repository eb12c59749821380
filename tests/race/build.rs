//! `HODO_SEEDED_BUG=1` builds the ring with its seeded bug; a variable, not a compiler flag, so that
//! a standard library built for ThreadSanitizer is built once.

fn main() {
    println!("cargo::rerun-if-env-changed=HODO_SEEDED_BUG");
    println!("cargo::rustc-check-cfg=cfg(seeded_bug)");
    if std::env::var_os("HODO_SEEDED_BUG").is_some() {
        println!("cargo::rustc-cfg=seeded_bug");
    }
}

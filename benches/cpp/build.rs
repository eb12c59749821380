//! Compiles the rows that are C++ with the flags a program would use.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=src");
    println!("cargo::rerun-if-changed=../../cpp/include");
    println!("cargo::rerun-if-env-changed=TRACY_INCLUDE");
    let mut rows = cc::Build::new();
    rows.cpp(true)
        .std("c++17")
        .opt_level(3)
        .debug(false)
        .pic(false)
        .flag("-fPIE")
        .include("../../cpp/include")
        .file("src/hodo_rows.cpp");
    if let Ok(tracy) = env::var("TRACY_INCLUDE") {
        rows.include(tracy)
            .define("TRACY_ENABLE", None)
            .define("TRACY_ONLY_LOCALHOST", None)
            .file("src/tracy_row.cpp");
        println!("cargo::rustc-cfg=tracy");
    }
    println!("cargo::rustc-check-cfg=cfg(tracy)");
    rows.compile("rows");
}

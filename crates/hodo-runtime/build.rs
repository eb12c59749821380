//! Gives the shared library its name for the loader, whatever the file is called.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libhodo.so");
}

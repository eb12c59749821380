//! Gives the shared library its name for the loader, whatever the file is called, and keeps it in
//! the process: other libraries hold addresses in it.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libhodo.so");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
}

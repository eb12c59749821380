use crate::args::Args;
use crate::outcome;
use hodo_record::{Config, Site, open_with};
use hodo_tests::acks::bump;
use std::ffi::{CStr, CString, c_void};
use std::thread;

static HOST: Site = Site::new("host");
static CALLED: Site = Site::new("called");

type Init = extern "C" fn() -> i32;
type Work = extern "C" fn(i64, extern "C" fn(i64));

/// Loads a library with a copy of hodo of its own; `first` says whose copy starts the recorder.
/// Then both record on two threads, each inside the other's scopes.
pub fn run(args: &Args) {
    let acks = args.acks();
    let library = load(args.text("library").expect("library"));
    // SAFETY: the plugin exports these with these signatures.
    let (init, work) = unsafe {
        let init = std::mem::transmute::<*mut c_void, Init>(symbol(library, c"plugin_init"));
        let work = std::mem::transmute::<*mut c_void, Work>(symbol(library, c"plugin_work"));
        (init, work)
    };
    if args.text("first") == Some("plugin") {
        assert_eq!(init(), 1, "the plugin's copy does not start");
        outcome::started(&acks, &hodo_record::init(Config::from_env()));
    } else {
        outcome::started(&acks, &hodo_record::init(Config::from_env()));
        assert_eq!(init(), 4, "the plugin's copy does not find the host's");
    }
    let body = move |from: i64| {
        for index in from..from + 500 {
            let scope = open_with(HOST.id(), 0, Some(index));
            work(index, called);
            scope.close();
        }
    };
    let other = thread::spawn(move || body(1_000));
    body(0);
    other.join().expect("other");
    bump(&acks.lane(0).spans);
    if args.is_set("unload") {
        // SAFETY: nothing of the plugin is called any more; hodo must have pinned what it needs.
        unsafe { libc::dlclose(library) };
        open_with(HOST.id(), 0, Some(-1)).close();
    }
    outcome::finish(args);
}

extern "C" fn called(index: i64) {
    open_with(CALLED.id(), 0, Some(index)).close();
}

fn load(path: &str) -> *mut c_void {
    let path = CString::new(path).expect("path");
    // SAFETY: loads a library of ours, whose initialisers do nothing.
    let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    assert!(!library.is_null(), "dlopen {path:?}");
    library
}

fn symbol(library: *mut c_void, name: &CStr) -> *mut c_void {
    // SAFETY: the library is loaded and the name ends in NUL.
    let found = unsafe { libc::dlsym(library, name.as_ptr()) };
    assert!(!found.is_null(), "{name:?}");
    found
}

//! A plugin with its own copy of hodo, as a Python extension or a C++ library would have.

use hodo_record::{Config, Site, Started, Value, mark, open_with};

static PLUGIN: Site = Site::new("plugin");
static NOTE: Site = Site::new("note");

/// Starts a recorder; 1 when this copy records, 4 when another one in the process already does.
#[unsafe(no_mangle)]
pub extern "C" fn plugin_init() -> i32 {
    match hodo_record::init(Config::from_env()) {
        Started::On => 1,
        Started::Degraded(_) => 2,
        Started::Off(_) => 3,
        Started::Already => 4,
    }
}

/// Opens a scope, makes a mark, calls the host back, closes the scope.
#[unsafe(no_mangle)]
pub extern "C" fn plugin_work(index: i64, host: extern "C" fn(i64)) {
    let scope = open_with(PLUGIN.id(), 0, Some(index));
    mark(NOTE.id(), Value::I64(index), false);
    host(index);
    scope.close();
}

/// Closes out from the plugin's side.
#[unsafe(no_mangle)]
pub extern "C" fn plugin_shutdown() {
    hodo_record::shutdown();
}

//! NVTX ranges: in a program that no tool looks at, and with the least of recording tools.

use crate::cpp::{Burst, load};
use crate::measure::Row;
use std::sync::OnceLock;

static PLAIN: OnceLock<Option<Burst>> = OnceLock::new();
static RECORDED: OnceLock<Option<Burst>> = OnceLock::new();

fn run(burst: &OnceLock<Option<Burst>>, cycles: u64) {
    if let Some(Some(burst)) = burst.get() {
        // SAFETY: the loop is safe for any number of cycles.
        unsafe { burst(cycles) };
    }
}

/// NVTX looks for a tool at its first call, so each copy makes one while the variable is right.
fn first_call(burst: &OnceLock<Option<Burst>>, library: &str, tool: Option<String>) -> bool {
    match tool {
        // SAFETY: no other thread of this program reads the environment.
        Some(tool) => unsafe { std::env::set_var("NVTX_INJECTION64_PATH", tool) },
        // SAFETY: as above.
        None => unsafe { std::env::remove_var("NVTX_INJECTION64_PATH") },
    }
    burst.get_or_init(|| load(library, "nvtx_ranges"));
    run(burst, 1);
    burst.get().is_some_and(Option::is_some)
}

/// What most programs have: nobody listens.
pub fn without_tool() -> Row {
    let found = first_call(&PLAIN, "HODO_BENCH_NVTX", None);
    let name = if found { "nvtx3::scoped_range, no tool" } else { "nvtx3 (not found)" };
    Row::new(name, "nothing", |cycles| run(&PLAIN, cycles))
}

/// Two clock reads and a 64-byte record in a ring that nobody empties.
pub fn with_tool() -> Row {
    let tool = std::env::var("HODO_BENCH_NVTX_TOOL").ok();
    let found = first_call(&RECORDED, "HODO_BENCH_NVTX_2", tool);
    let name =
        if found { "nvtx3::scoped_range, recorded" } else { "nvtx3 with a tool (not found)" };
    Row::new(name, "64 B: name, times, depth", |cycles| run(&RECORDED, cycles))
}

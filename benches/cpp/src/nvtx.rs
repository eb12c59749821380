//! NVTX ranges: in a program that no tool looks at, with the least of recording tools, and as scopes
//! of hodo.

use crate::cpp::{Burst, load};
use crate::measure::Row;
use crate::rows::ours;
use std::sync::OnceLock;

static PLAIN: OnceLock<Option<Burst>> = OnceLock::new();
static RECORDED: OnceLock<Option<Burst>> = OnceLock::new();
static INJECTED: OnceLock<Option<Burst>> = OnceLock::new();
static IN_DOMAIN: OnceLock<Option<Burst>> = OnceLock::new();

fn run(burst: &OnceLock<Option<Burst>>, cycles: u64) {
    if let Some(Some(burst)) = burst.get() {
        // SAFETY: the loop is safe for any number of cycles.
        unsafe { burst(cycles) };
    }
}

/// NVTX looks for a tool at its first call, so each copy makes one while the variable is right.
fn first_call(
    burst: &OnceLock<Option<Burst>>,
    library: &str,
    function: &str,
    tool: Option<String>,
) -> bool {
    match tool {
        // SAFETY: no other thread of this program reads the environment.
        Some(tool) => unsafe { std::env::set_var("NVTX_INJECTION64_PATH", tool) },
        // SAFETY: as above.
        None => unsafe { std::env::remove_var("NVTX_INJECTION64_PATH") },
    }
    burst.get_or_init(|| load(library, function));
    run(burst, 1);
    burst.get().is_some_and(Option::is_some)
}

/// What most programs have: nobody listens.
pub fn without_tool() -> Row {
    let found = first_call(&PLAIN, "HODO_BENCH_NVTX", "nvtx_ranges", None);
    let name = if found { "nvtx3::scoped_range, no tool" } else { "nvtx3 (not found)" };
    Row::new(name, "nothing", |cycles| run(&PLAIN, cycles))
}

/// Two clock reads and a 64-byte record in a ring that nobody empties.
pub fn with_tool() -> Row {
    let tool = std::env::var("HODO_BENCH_NVTX_TOOL").ok();
    let found = first_call(&RECORDED, "HODO_BENCH_NVTX_2", "nvtx_ranges", tool);
    let name =
        if found { "nvtx3::scoped_range, recorded" } else { "nvtx3 with a tool (not found)" };
    Row::new(name, "64 B: name, times, depth", |cycles| run(&RECORDED, cycles))
}

/// Scopes of hodo, which the injected library records into the recorder that runs.
pub fn with_hodo() -> Row {
    injected(&INJECTED, "nvtx_ranges", "nvtx3::scoped_range, hodo", 1, |cycles| {
        run(&INJECTED, cycles)
    })
}

/// The same with a domain and a payload, which are attributes.
pub fn in_domain() -> Row {
    let name = "nvtx3::scoped_range_in, domain + payload, hodo";
    injected(&IN_DOMAIN, "nvtx_domain_ranges", name, 2, |cycles| run(&IN_DOMAIN, cycles))
}

fn injected(
    burst: &'static OnceLock<Option<Burst>>,
    function: &str,
    name: &'static str,
    records: u64,
    run: fn(u64),
) -> Row {
    ours::start();
    let tool = std::env::var("HODO_LIBRARY").ok();
    let found = first_call(burst, "HODO_BENCH_NVTX_3", function, tool);
    ours::drain(records);
    let name = if found { name } else { "nvtx3 with hodo (not found)" };
    Row::drained(name, "as hodo scopes", run, move |cycles| ours::drain(cycles * records))
}

//! With the feature `off` a scope is nothing: no size, no evaluation, no machine code.

use hodo::FutureExt;

/// What both functions below compute.
#[inline(always)]
fn work(x: u64) -> u64 {
    (x ^ (x >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd)
}

/// The work alone.
#[inline(never)]
#[unsafe(no_mangle)]
pub extern "C" fn hodo_off_test_plain(x: u64) -> u64 {
    work(x)
}

/// The work inside everything hodo has.
#[inline(never)]
#[unsafe(no_mangle)]
pub extern "C" fn hodo_off_test_recorded(x: u64) -> u64 {
    let s = hodo::scope!("recorded", index = x, variant = "beam", lr = 0.1, text = x.to_string());
    hodo::set!(s, late = x);
    hodo::mark!("loss", x, summary);
    let _number = hodo::begin!("copy", bytes = x);
    scoped(x)
}

#[hodo::scoped(x = x)]
#[inline(always)]
fn scoped(x: u64) -> u64 {
    work(x)
}

#[test]
fn both_functions_do_their_work() {
    assert_eq!(hodo_off_test_plain(7), hodo_off_test_recorded(7));
}

#[cfg(feature = "off")]
#[test]
fn scopes_have_no_size() {
    assert_eq!(size_of::<hodo::Scope>(), 0);
    assert_eq!(size_of::<hodo::Handle>(), 0);
    assert_eq!(size_of::<hodo::Link>(), 0);
    assert_eq!(size_of::<hodo::Attached>(), 0);
}

#[cfg(feature = "off")]
#[test]
fn the_recorder_does_not_start() {
    let mut evaluated = false;
    let recording = hodo::init(hodo::Config::default());
    assert!(matches!(recording.started(), hodo::Started::Off(_)));
    let s = hodo::scope!(
        "off",
        value = {
            evaluated = true;
            1
        }
    );
    assert!(!evaluated && !s.is_recorded() && !hodo::is_on());
    assert_eq!(hodo::health().run, None);
    assert!(hodo::child_env().is_empty());
}

/// The wrappers still do what they wrap.
#[test]
fn loops_benches_and_futures_still_run() {
    assert_eq!(hodo::batches(hodo::epochs(0..4)).sum::<i32>(), 6);
    assert_eq!(hodo::bench("b").repeat(3).warmup(1).run(|| 1).samples_ns.len(), 3);
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let future = async { 7 }.scoped("future");
    assert_eq!(runtime.expect("a runtime").block_on(future), 7);
}

/// Unoptimised code calls empty functions, so this says something in a release build only.
#[cfg(all(not(debug_assertions), target_os = "linux"))]
#[test]
fn the_same_machine_code() {
    let same = code_of("hodo_off_test_plain") == code_of("hodo_off_test_recorded");
    assert_eq!(same, cfg!(feature = "off"));
}

/// The machine code of a function of this program.
#[cfg(all(not(debug_assertions), target_os = "linux"))]
fn code_of(name: &str) -> Vec<u8> {
    use object::{Object, ObjectSection, ObjectSymbol};
    let program = std::fs::read("/proc/self/exe").expect("this program");
    let program = object::File::parse(&*program).expect("an object file");
    let symbol = program.symbol_by_name(name).expect("the function's symbol");
    let section = program.section_by_index(symbol.section_index().expect("a section"));
    let code = section.and_then(|s| s.data_range(symbol.address(), symbol.size()));
    code.expect("readable code").expect("code in the section").to_vec()
}

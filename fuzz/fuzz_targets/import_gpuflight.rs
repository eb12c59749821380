#![no_main]
//! A log of GPUFlight of any content: refused, or a run that is whole.

use hodo_convert::import::Source;
use hodo_fuzz::imports::import;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| import(Source::GpuFlight, data));

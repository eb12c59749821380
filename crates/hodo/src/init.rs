//! Starting, flushing and stopping the recorder.

use crate::backend;
use hodo_record::{Config, Flushed, Health, Started};
use std::time::Duration;

/// The recorder is on while this lives; dropping it writes what is left and closes the run.
///
/// Nothing is lost without it: a process that ends any other way leaves a readable run too.
///
/// ```
/// let hodo = hodo::init(hodo::Config { enabled: false, ..hodo::Config::default() });
/// println!("{:?}", hodo.started());
/// drop(hodo); // or the end of `main`
/// assert!(!hodo::is_on());
/// ```
#[must_use = "recording stops when this is dropped: bind it, `let _hodo = hodo::init(..)`"]
pub struct Recording {
    started: Started,
}

/// Starts recording. Never fails: a recorder that cannot write keeps running in memory and says
/// so in [`Recording::started`], in [`health`] and in one warning.
///
/// [`Config::from_env`] takes the `HODO_*` variables, among them `HODO=0`, which leaves it off.
///
/// ```
/// let hodo = hodo::init(hodo::Config { enabled: false, ..hodo::Config::default() });
/// assert!(matches!(hodo.started(), hodo::Started::Off(_)));
/// assert!(!hodo::is_on());
/// ```
pub fn init(config: Config) -> Recording {
    #[cfg(feature = "log")]
    hodo_record::set_warn(|warning| log::warn!(target: "hodo", "{warning}"));
    #[cfg(all(feature = "gpu", not(feature = "off")))]
    hodo_gpu::install();
    #[cfg(all(feature = "telemetry", not(feature = "off")))]
    hodo_machine::install();
    Recording { started: backend::init(config) }
}

impl Recording {
    /// Whether and how the recorder started.
    pub fn started(&self) -> &Started {
        &self.started
    }

    /// Keeps recording to the end of the process, without this value.
    ///
    /// ```
    /// fn set_up() {
    ///     hodo::init(hodo::Config { enabled: false, ..hodo::Config::default() }).keep();
    /// }
    /// # set_up();
    /// ```
    pub fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for Recording {
    /// Stops the recorder, unless another [`init`] had started it.
    fn drop(&mut self) {
        if matches!(self.started, Started::On | Started::Degraded(_)) {
            backend::shutdown();
        }
    }
}

/// Whether scopes are being recorded.
///
/// ```
/// assert!(!hodo::is_on()); // nobody called `init`
/// ```
#[inline(always)]
pub fn is_on() -> bool {
    backend::is_on()
}

/// Stops recording and closes the run; scopes opened later are inert. Quick, and optional.
///
/// ```
/// hodo::shutdown();
/// assert!(!hodo::is_on());
/// ```
pub fn shutdown() -> Flushed {
    backend::shutdown()
}

/// Waits until what was recorded so far is in the spool, at most `timeout`.
///
/// ```
/// hodo::flush(std::time::Duration::from_secs(1));
/// ```
pub fn flush(timeout: Duration) -> Flushed {
    backend::flush(timeout)
}

/// What the recorder did: the run's folder, counts, losses by reason, methods in use.
///
/// ```
/// let health = hodo::health();
/// println!("recording into {:?}", health.run);
/// ```
pub fn health() -> Health {
    backend::health()
}

/// The state of the GPU's capture as a JSON object: what is captured, or why not, and what was lost.
/// Empty while nothing records.
///
/// ```
/// println!("{}", hodo::gpu_state());
/// ```
pub fn gpu_state() -> String {
    if backend::is_on() { hodo_record::binding::gpu_state() } else { String::new() }
}

/// The state of the machine's readings as a JSON object: how often they are made and what of, who makes
/// them, what they cost, what cannot be read and why. Empty while nothing records.
///
/// ```
/// println!("{}", hodo::telemetry_state());
/// ```
pub fn telemetry_state() -> String {
    let state = || hodo_record::binding::companion_state("telemetry");
    if backend::is_on() { state() } else { String::new() }
}

/// The variables that make a process about to be started part of this run, under the scope
/// current here.
///
/// ```
/// let mut command = std::process::Command::new("true");
/// command.envs(hodo::child_env());
/// ```
pub fn child_env() -> Vec<(&'static str, String)> {
    if backend::is_on() { hodo_record::child_env() } else { Vec::new() }
}

//! The program that is recorded: a process of its own, which says what it made.

use serde::{Deserialize, Serialize};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How a recorder is told what to do.
const ORDERS: &str = "HODO_TEST_ORDERS";
/// The test that is the recorder.
const NAME: &str = "recorder::a_process_that_is_recorded";

/// What a recorder is to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Orders {
    /// Scopes a second; 0 for as many as go.
    pub per_second: u64,
    pub seconds: f64,
    /// How many, whatever the time; 0 for as long as the time lasts.
    pub count: u64,
    /// Then it goes on until this file is there.
    pub until: Option<std::path::PathBuf>,
    /// Where it says what it made.
    pub answer: std::path::PathBuf,
    /// It ends by a kill of its own.
    pub dies: bool,
    /// `ns` counts the bursts alone, and not the time between them.
    pub measures_bursts: bool,
}

/// What a recorder made.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Made {
    pub pid: u32,
    pub scopes: u64,
    /// As the recorder counts, at its end.
    pub produced: u64,
    pub lost: u64,
    pub degraded: String,
    /// Nanoseconds for each scope.
    pub ns: f64,
    /// What `waitpid` for any child says after a while: the number of the error.
    pub children: i32,
}

/// One that records; it ends with this.
pub struct Recorder(Child);

impl Recorder {
    /// Waits for its own end.
    pub fn wait(&mut self) -> ExitStatus {
        self.0.wait().unwrap()
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts one that records into `run`.
pub fn start(run: &Path, orders: &Orders, variables: &[(&str, String)]) -> Recorder {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([NAME, "--exact", "--ignored", "--nocapture"]);
    for name in ["HODO_SERVER", "HODO_TOKEN", "HODO_TOKEN_FILE", "HODO_BIN", "HODO_SHIPPER"] {
        command.env_remove(name);
    }
    let child = command
        .env(ORDERS, serde_json::to_string(orders).unwrap())
        .env("HODO_RUN", run)
        .env("HODO_MEMORY", "32m")
        .env("HODO_TELEMETRY", "off")
        .env("HODO_GPU", "off")
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .stdout(Stdio::null())
        .spawn();
    Recorder(child.unwrap())
}

/// What the recorder of `orders` says it made; none when it did not come to that.
pub fn made(orders: &Orders) -> Option<Made> {
    serde_json::from_slice(&std::fs::read(&orders.answer).ok()?).ok()
}

#[test]
#[ignore = "started by the tests of this file"]
fn a_process_that_is_recorded() {
    let Ok(orders) = std::env::var(ORDERS) else { return };
    let orders: Orders = serde_json::from_str(&orders).unwrap();
    hodo::init(hodo::Config::from_env()).keep();
    let began = Instant::now();
    let (scopes, busy) = record(&orders, began);
    let busy = if orders.measures_bursts { busy } else { began.elapsed() };
    let ns = busy.as_nanos() as f64 / scopes.max(1) as f64;
    // SAFETY: asks for any child that has ended, without waiting.
    let children = match unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG) } {
        -1 => std::io::Error::last_os_error().raw_os_error().unwrap_or(0),
        _ => 0,
    };
    let degraded = hodo::health().degraded;
    if !orders.dies {
        hodo::shutdown();
    }
    let health = hodo::health();
    let (produced, lost) = (health.produced.spans, health.lost.iter().map(|lost| lost.spans).sum());
    let pid = std::process::id();
    let made = Made { pid, scopes, produced, lost, degraded, ns, children };
    let part = orders.answer.with_extension("part");
    std::fs::write(&part, serde_json::to_vec(&made).unwrap()).unwrap();
    std::fs::rename(&part, &orders.answer).unwrap();
    if orders.dies {
        // SAFETY: the end of this process, which is the point.
        unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
    }
}

/// What is recorded between two waits for all of it to be stored: a machine that has much else to do, and
/// gives the thread that stores no time for a while, loses none of so many.
const PIECE: u64 = 100_000;

/// Records as many scopes as are asked for, in bursts, one each millisecond; and how long they took.
fn record(orders: &Orders, began: Instant) -> (u64, Duration) {
    let lasts = Duration::from_secs_f64(orders.seconds);
    let (mut scopes, mut stored) = (0, 0);
    let mut busy = Duration::ZERO;
    let goes_on = || orders.until.as_ref().is_some_and(|until| !until.exists());
    while (orders.count == 0 && began.elapsed() < lasts) || scopes < orders.count || goes_on() {
        if scopes - stored >= PIECE {
            hodo::flush(Duration::from_secs(60));
            stored = scopes;
        }
        let due = match orders.per_second {
            0 => scopes + 1000,
            rate => (began.elapsed().as_nanos() as u64 * rate) / 1_000_000_000,
        };
        let due = due.min(stored + PIECE);
        let burst = Instant::now();
        while scopes < due {
            let _scope = hodo::scope!("step");
            scopes += 1;
        }
        busy += burst.elapsed();
        if orders.per_second > 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    (scopes, busy)
}

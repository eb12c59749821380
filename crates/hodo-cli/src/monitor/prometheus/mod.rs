//! The newest readings for Prometheus: an HTTP server that answers one question.

mod families;
mod http;
mod open_telemetry;
mod own;

use crate::output::{self, Failure};
use crate::top::gpu_names;
use families::Families;
use hodo_machine::{Sampling, monotonic_ns};
use http::{Answer, Request};
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Connections that are answered at the same time; more are turned away.
const MOST_CONNECTIONS: usize = 8;
/// The stack of a thread that answers: a page is built on the heap.
const STACK_BYTES: usize = 128 << 10;
/// Values that were not read anew for so long are left out, at the least.
const STALE: Duration = Duration::from_secs(30);
/// Rounds after which they are, for slow ones.
const STALE_ROUNDS: u32 = 10;

/// The address that `text` means.
pub fn address(text: &str) -> Result<SocketAddr, Failure> {
    let found = text.to_socket_addrs().ok().and_then(|mut found| found.next());
    found.ok_or_else(|| {
        Failure::Usage(format!(
            "`{text}` is no address with a port; write --prometheus 127.0.0.1:9464"
        ))
    })
}

/// A port that is ours.
pub struct Endpoint {
    listener: TcpListener,
    /// Where it listens; a port of 0 was replaced by one that was free.
    pub address: SocketAddr,
}

impl Endpoint {
    /// Takes the port; or says why not.
    pub fn bind(address: SocketAddr) -> Result<Endpoint, String> {
        let listener = TcpListener::bind(address).map_err(|error| {
            let hint = match error.kind() {
                io::ErrorKind::AddrInUse => "; another program has it, name another port",
                io::ErrorKind::PermissionDenied => "; ports below 1024 are the system's",
                _ => "",
            };
            format!("cannot answer at {address}: {error}{hint}")
        })?;
        let address = listener.local_addr().unwrap_or(address);
        if !address.ip().is_loopback() {
            output::note(&format!(
                "hodo monitor: warning: whoever can reach {address} reads what this machine does; \
                 127.0.0.1 is for this machine only"
            ));
        }
        Ok(Endpoint { listener, address })
    }

    /// Answers from a thread of its own, for as long as the program runs.
    pub fn serve(self, sampling: Arc<Sampling>, interval: Duration) -> io::Result<()> {
        let stale = STALE.max(interval * STALE_ROUNDS);
        let page = Arc::new(Page { sampling, stale, host: host() });
        let busy = Arc::new(AtomicUsize::new(0));
        let is_loopback = self.address.ip().is_loopback();
        let listen = move || {
            for connection in self.listener.incoming() {
                match connection {
                    Ok(connection) => accept(connection, &page, &busy, is_loopback),
                    // Out of descriptors, most likely: others may end meanwhile.
                    Err(_) => std::thread::sleep(Duration::from_millis(100)),
                }
            }
        };
        thread("hodo-prometheus").spawn(listen).map(drop)
    }
}

fn thread(name: &str) -> std::thread::Builder {
    std::thread::Builder::new().name(name.into()).stack_size(STACK_BYTES)
}

/// Answers in a thread of its own, or turns away.
fn accept(connection: TcpStream, page: &Arc<Page>, busy: &Arc<AtomicUsize>, is_loopback: bool) {
    if busy.fetch_add(1, Ordering::Relaxed) >= MOST_CONNECTIONS {
        busy.fetch_sub(1, Ordering::Relaxed);
        http::turn_away(&connection);
        return;
    }
    let (page, counted) = (page.clone(), busy.clone());
    let work = move || {
        http::answer(&connection, is_loopback, |request| page.answer(request));
        counted.fetch_sub(1, Ordering::Relaxed);
    };
    if thread("hodo-scrape").spawn(work).is_err() {
        busy.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What is answered.
struct Page {
    sampling: Arc<Sampling>,
    stale: Duration,
    host: String,
}

impl Page {
    fn answer(&self, request: &Request) -> Answer {
        match request.path.as_str() {
            "/metrics" => Answer::metrics(self.metrics()),
            "/" => Answer::page("hodo monitor: /metrics has the readings of this machine\n"),
            _ => Answer::not_found(),
        }
    }

    fn metrics(&self) -> String {
        let told = self.sampling.told();
        let gpus = told.iter().find(|(name, _)| *name == "gpus");
        let gpus = gpus.map_or_else(Vec::new, |(_, json)| gpu_names(json));
        let oldest_ns = monotonic_ns().saturating_sub(self.stale.as_nanos() as u64);
        let mut readings = self.sampling.newest();
        readings.retain(|one| one.time_ns >= oldest_ns);
        let mut families = Families::default();
        own::add(&readings, &self.host, &gpus, &mut families);
        open_telemetry::add(&readings, &self.host, &gpus, &mut families);
        families.text()
    }
}

fn host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().to_owned()
}

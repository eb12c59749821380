//! tracy-client: zones without call stacks, drained by a viewer that reads and forgets.

use crate::measure::Row;
use std::hint::black_box;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

static CLIENT: OnceLock<tracy_client::Client> = OnceLock::new();
static RECEIVED: AtomicU64 = AtomicU64::new(0);

/// Tracy's default port; the profiled program listens there unless `TRACY_PORT` says otherwise.
const PORT: u16 = 8086;
/// The protocol of the Tracy that tracy-client-sys 0.30 carries.
const PROTOCOL: u32 = 82;

/// Without a viewer Tracy keeps every event in memory that only grows, and pays its page faults.
struct Viewer(TcpStream);

impl Viewer {
    fn connect() -> Viewer {
        let port = std::env::var("TRACY_PORT").ok().and_then(|port| port.parse().ok());
        let mut socket = loop {
            match TcpStream::connect(("127.0.0.1", port.unwrap_or(PORT))) {
                Ok(socket) => break socket,
                Err(_) => thread::sleep(Duration::from_millis(20)),
            }
        };
        let hello = [b"TracyPrf".as_slice(), &PROTOCOL.to_le_bytes()].concat();
        assert!(socket.write_all(&hello).is_ok(), "the Tracy client hung up");
        let reader = socket.try_clone();
        thread::spawn(move || reader.map(forget_all));
        Viewer(socket)
    }
}

impl Drop for Viewer {
    /// A connected client would wait at exit for a viewer that answers.
    fn drop(&mut self) {
        let _ = self.0.shutdown(Shutdown::Both);
    }
}

fn forget_all(mut socket: TcpStream) {
    let mut buffer = vec![0; 1 << 20];
    while let Ok(bytes @ 1..) = socket.read(&mut buffer) {
        RECEIVED.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

/// Starts the client and connects the viewer.
pub fn row() -> Row {
    CLIENT.get_or_init(tracy_client::Client::start);
    let viewer = Viewer::connect();
    let connected = (0..2000).any(|_| {
        thread::sleep(Duration::from_millis(5));
        tracy_client::Client::is_connected()
    });
    assert!(connected, "the Tracy client did not take the viewer");
    Row::drained("tracy-client span", "2 events: location, time", burst, move |_| {
        let Viewer(_) = &viewer;
        wait_until_quiet();
        0
    })
}

fn wait_until_quiet() {
    let mut seen = RECEIVED.load(Ordering::Relaxed);
    loop {
        // The client looks into its queues every 10 ms.
        thread::sleep(Duration::from_millis(30));
        let now = RECEIVED.load(Ordering::Relaxed);
        if now == seen {
            return;
        }
        seen = now;
    }
}

#[inline(never)]
fn burst(cycles: u64) {
    let Some(client) = CLIENT.get() else { return };
    for _ in 0..cycles {
        let span = client.clone().span(tracy_client::span_location!("x"), 0);
        black_box(&span);
    }
}

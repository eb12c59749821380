//! A collector that is started, killed and started again, and a proxy that treats connections badly.

use crate::port::Port;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// The program.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_hodo");

/// A `hodo serve` of a test.
pub struct Collector {
    dir: PathBuf,
    pub address: SocketAddr,
    /// It must be the same after a kill.
    _port: Port,
    pub token: String,
    /// Certificate and key, where it speaks TLS.
    tls: Option<(PathBuf, PathBuf)>,
    child: Option<Child>,
}

impl Collector {
    /// One in a folder of its own in `parent`, running.
    pub fn start(parent: &Path) -> Collector {
        Collector::start_with(parent, None)
    }

    /// The same by TLS, with a certificate of its own for localhost, which is at the path.
    pub fn start_by_tls(parent: &Path) -> (Collector, PathBuf) {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let (cert, key) = (parent.join("cert.pem"), parent.join("key.pem"));
        std::fs::write(&cert, made.cert.pem()).unwrap();
        std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
        (Collector::start_with(parent, Some((cert.clone(), key))), cert)
    }

    fn start_with(parent: &Path, tls: Option<(PathBuf, PathBuf)>) -> Collector {
        let port = Port::keep();
        let address = SocketAddr::from(([127, 0, 0, 1], port.number));
        let (dir, token) = (parent.join("store"), String::new());
        let mut collector = Collector { dir, address, _port: port, token, tls, child: None };
        collector.start_again();
        collector
    }

    /// Starts it where it is down.
    pub fn start_again(&mut self) {
        let mut command = Command::new(PROGRAM);
        command.arg("serve").arg("--dir").arg(&self.dir);
        command.args(["--bind", &self.address.to_string()]);
        if let Some((cert, key)) = &self.tls {
            command.arg("--tls-cert").arg(cert).arg("--tls-key").arg(key);
        }
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (send, lines) = std::sync::mpsc::channel();
        let outputs: [Box<dyn Read + Send>; 2] =
            [Box::new(child.stdout.take().unwrap()), Box::new(child.stderr.take().unwrap())];
        for output in outputs {
            let send = send.clone();
            std::thread::spawn(move || {
                BufReader::new(output).lines().map_while(Result::ok).for_each(|line| {
                    let _ = send.send(line);
                });
            });
        }
        self.child = Some(child);
        while TcpStream::connect(self.address).is_err() {
            let ended = self.child.as_mut().unwrap().try_wait().unwrap();
            assert!(ended.is_none(), "it ended: {:?}", lines.try_iter().collect::<Vec<_>>());
            std::thread::sleep(Duration::from_millis(5));
        }
        while self.token.is_empty() {
            let line = lines.recv_timeout(Duration::from_secs(120)).expect("it prints its tokens");
            if let Some(token) = line.strip_prefix("ingest token: ") {
                self.token = token.trim().to_owned();
            }
        }
    }

    /// Kills it, with no chance to do anything more.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    pub fn url(&self) -> String {
        match &self.tls {
            Some(_) => format!("https://localhost:{}", self.address.port()),
            None => format!("http://{}", self.address),
        }
    }

    /// The folder of a run there.
    pub fn run(&self, id: &str) -> PathBuf {
        self.dir.join("runs").join(id)
    }

    /// User and system time that it has taken.
    pub fn cpu(&self) -> Duration {
        let pid = self.child.as_ref().unwrap().id();
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let words: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
        let ticks: u64 = words[11..13].iter().map(|word| word.parse::<u64>().unwrap()).sum();
        // SAFETY: sysconf has no preconditions.
        let per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) } as u64;
        Duration::from_millis(ticks * 1000 / per_second)
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.kill();
    }
}

/// What a proxy does to connections, one after another.
#[derive(Clone, Copy, Debug)]
pub enum Treatment {
    /// Passes everything on.
    Pass,
    /// Passes so many bytes on and resets the connection.
    ResetAfter(usize),
    /// Takes everything, passes nothing on, says nothing.
    Hole,
}

/// A proxy in front of `to`; connection n gets treatment n, and when there are none left it passes.
pub fn proxy(to: SocketAddr, treatments: &'static [Treatment]) -> (String, Arc<AtomicU32>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let count = Arc::new(AtomicU32::new(0));
    let counted = count.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let number = counted.fetch_add(1, Ordering::SeqCst) as usize;
            let treatment = treatments.get(number).copied().unwrap_or(Treatment::Pass);
            std::thread::spawn(move || treat(stream, to, treatment));
        }
    });
    (url, count)
}

fn treat(client: TcpStream, to: SocketAddr, treatment: Treatment) {
    let most = match treatment {
        Treatment::Pass => usize::MAX,
        Treatment::ResetAfter(bytes) => bytes,
        Treatment::Hole => {
            let mut client = client;
            let _ = std::io::copy(&mut client, &mut std::io::sink());
            return;
        }
    };
    let Ok(server) = TcpStream::connect(to) else { return };
    let (mut back_from, mut back_to) = (server.try_clone().unwrap(), client.try_clone().unwrap());
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut back_from, &mut back_to);
        let _ = back_to.shutdown(Shutdown::Both);
    });
    let (mut from, mut onto) = (client, server);
    let mut buffer = [0; 8192];
    let mut passed = 0;
    while let Ok(bytes @ 1..) = from.read(&mut buffer) {
        let pass = bytes.min(most - passed);
        if onto.write_all(&buffer[..pass]).is_err() {
            break;
        }
        passed += pass;
        if passed == most {
            reset(&from);
            break;
        }
    }
    let _ = onto.shutdown(Shutdown::Both);
    let _ = from.shutdown(Shutdown::Both);
}

/// The connection ends with an RST, not in order.
fn reset(stream: &TcpStream) {
    use std::os::fd::AsRawFd;
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    // SAFETY: the option's value is a linger of that size.
    unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_LINGER,
            (&raw const linger).cast(),
            size_of::<libc::linger>() as u32,
        )
    };
}

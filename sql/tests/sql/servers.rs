//! Real servers for the tests of addresses.

use crate::port::Port;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A server that ends with this.
pub struct Server {
    child: Child,
    pub port: u16,
    _kept: Port,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn started(mut command: Command, kept: Port) -> Server {
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut server = Server { child, port: kept.number, _kept: kept };
    let patience = Instant::now() + Duration::from_secs(180);
    while TcpStream::connect(("127.0.0.1", server.port)).is_err() {
        assert!(server.child.try_wait().unwrap().is_none(), "the server has ended");
        assert!(Instant::now() < patience, "the server does not answer");
        std::thread::sleep(Duration::from_millis(50));
    }
    server
}

/// A web server on the files of a folder, which gives parts of files; none where the Python of the
/// tests is not told.
pub fn web(folder: &Path) -> Option<Server> {
    let port = Port::keep();
    let mut command = Command::new(python()?);
    command.args(["-m", "RangeHTTPServer", &port.number.to_string(), "--bind", "127.0.0.1"]);
    command.current_dir(folder);
    Some(started(command, port))
}

/// Python's own web server, which gives whole files only.
pub fn whole_files(folder: &Path) -> Server {
    let port = Port::keep();
    let mut command = Command::new("python3");
    command.args(["-m", "http.server", &port.number.to_string(), "--bind", "127.0.0.1"]);
    command.current_dir(folder);
    started(command, port)
}

/// The Python that has what the tests need.
pub fn python() -> Option<std::ffi::OsString> {
    let python = std::env::var_os("HODO_SQL_PYTHON");
    if python.is_none() {
        eprintln!(
            "not checked: HODO_SQL_PYTHON names no Python with servers (`make test-sql` does)"
        );
    }
    python
}

/// A server that speaks S3; none where the Python of the tests is not told.
pub fn s3() -> Option<Server> {
    let port = Port::keep();
    let mut command = Command::new(python()?);
    command.args(["-c", "from moto.server import main; main()", "-H", "127.0.0.1"]);
    command.args(["-p", &port.number.to_string()]);
    Some(started(command, port))
}

//! `hodo serve`: takes the runs of many machines and shows them.
//!
//! What is shipped are the bytes of a run's files, so a run in the store is a run like any other, and
//! whatever reads runs reads it, while it grows too.

mod admit;
mod beat;
mod counters;
mod depot;
mod durable;
mod guard;
mod ingest;
mod janitor;
mod metrics;
mod note;
mod otlp;
mod pack;
mod rates;
mod receive;
mod refusal;
mod remote;
mod remove;
mod room;
mod silence;
#[cfg(test)]
mod testing;
mod tls;
mod tokens;
mod tries;

use crate::connection::{self, Terms};
use crate::page::Files;
use crate::state::{Shared, State};
use crate::store::Store;
use admit::Readers;
use axum::Router;
use axum::routing::{delete, get, post, put};
use counters::Counters;
use depot::{Depot, Entry};
use guard::Names;
use rates::Rates;
use remote::Remote;
use remove::Keep;
use room::Room;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
pub use tokens::{TokenInfo, TokenKind, TokenLimits, Tokens};
use tokio::net::TcpListener;

/// Connections at a time.
const MOST_CONNECTIONS: usize = 1024;

/// How a collector is set up.
#[derive(Clone, Debug)]
pub struct CollectorOptions {
    /// The folder of the store.
    pub dir: PathBuf,
    /// Where it listens.
    pub bind: SocketAddr,
    /// The certificate chain and the key, PEM files.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// Whether a proxy in front of it does TLS.
    pub behind_proxy: bool,
    /// Names it is reached by, besides those of loopback and the address it listens on.
    pub hosts: Vec<String>,
    /// Bytes that all runs may take.
    pub max_bytes: Option<u64>,
    /// Requests in a second with one token.
    pub rate: Option<u32>,
    /// How long a run is kept after it was heard of last.
    pub keep: Option<Duration>,
    /// How long a run is silent before it counts as ended.
    pub quiet_after: Duration,
    /// The address of a store for packed runs.
    pub store: Option<String>,
}

/// How long a run is silent before it counts as ended, where nothing is said.
const QUIET_AFTER: Duration = Duration::from_secs(600);

impl CollectorOptions {
    /// On a free port of this machine alone, with no limits.
    pub fn local(dir: &Path) -> CollectorOptions {
        CollectorOptions {
            dir: dir.to_owned(),
            bind: SocketAddr::from(([127, 0, 0, 1], 0)),
            tls: None,
            behind_proxy: false,
            hosts: Vec::new(),
            max_bytes: None,
            rate: None,
            keep: None,
            quiet_after: QUIET_AFTER,
            store: None,
        }
    }
}

/// Why a collector does not start.
#[derive(Debug)]
pub enum CollectorError {
    /// It would be open to others without what protects it.
    Exposed(String),
    /// A file, a folder or the address cannot be used.
    Io(String, io::Error),
}

impl std::fmt::Display for CollectorError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CollectorError::Exposed(words) => f.write_str(words),
            CollectorError::Io(what, error) => write!(f, "{what}: {error}"),
        }
    }
}

impl std::error::Error for CollectorError {}

/// A collector that listens and does not answer yet.
pub struct Collector {
    listener: std::net::TcpListener,
    terms: Terms,
    collecting: Collecting,
}

/// What all requests to a collector share.
pub struct Inside {
    /// When this collector began.
    began: Instant,
    depot: Arc<Depot>,
    tokens: Tokens,
    names: Names,
    rates: Rates,
    room: Room,
    readers: Readers,
    counters: Counters,
    logs: otlp::Logs,
    shared: Shared,
    keep: Keep,
    max_bytes: Option<u64>,
    remote: Option<Box<dyn Remote>>,
    waits: remote::Waits,
    /// The run that is being packed.
    packing: Mutex<Option<String>>,
}

/// The same, handed to every request.
#[derive(Clone)]
pub struct Collecting(Arc<Inside>);

impl Deref for Collecting {
    type Target = Inside;

    fn deref(&self) -> &Inside {
        &self.0
    }
}

impl Inside {
    /// Brings back a run that is only there, for whoever holds [`Entry::fetching`].
    fn bring_back(&self, entry: &Entry) -> io::Result<()> {
        let remote = self.remote.as_ref();
        remote.map_or(Ok(()), |remote| remote::download_if_away(self, &**remote, entry))
    }

    /// The same on a thread that may wait for whoever fetches it.
    fn wait_for(&self, entry: &Entry) -> io::Result<()> {
        let _fetching = entry.fetching.blocking_lock();
        self.bring_back(entry)
    }
}

impl Collector {
    /// Opens the store and listens.
    pub fn bind(options: &CollectorOptions) -> Result<Collector, CollectorError> {
        refuse_exposure(options)?;
        let dir = &options.dir;
        let store =
            |error| CollectorError::Io(format!("cannot use the folder {}", dir.display()), error);
        let tls = options.tls.as_ref().map(|(cert, key)| tls::acceptor(cert, key)).transpose()?;
        let depot = Depot::open(dir, options.max_bytes).map_err(store)?;
        let remote = options.store.as_deref().map(remote::open).transpose();
        let remote = remote.map_err(|error| CollectorError::Io("--store".to_owned(), error))?;
        let tokens = Tokens::new(dir);
        tokens.all().map_err(store)?;
        let listen =
            |error| CollectorError::Io(format!("cannot listen on {}", options.bind), error);
        let listener = std::net::TcpListener::bind(options.bind).map_err(listen)?;
        listener.set_nonblocking(true).map_err(listen)?;
        let bound = listener.local_addr().map_err(listen)?;
        let names = Names {
            port: bound.port(),
            hosts: names(options, bound),
            is_https: tls.is_some() || options.behind_proxy,
        };
        let depot = Arc::new(depot);
        let noted = depot.clone();
        let is_whole = move |run: &str| !noted.is_away(run);
        let store = Arc::new(Store::of_whole(&depot.runs(), Box::new(is_whole)));
        let state = State { files: Files::from_environment(), store };
        let inside = Inside {
            began: Instant::now(),
            depot,
            tokens,
            names,
            rates: Rates::new(options.rate),
            room: Room::new(),
            readers: Readers::new(),
            counters: Counters::default(),
            logs: otlp::Logs::default(),
            shared: Shared(Arc::new(state)),
            keep: Keep { age: options.keep, quiet_after: options.quiet_after },
            max_bytes: options.max_bytes,
            remote,
            waits: remote::Waits::default(),
            packing: Mutex::default(),
        };
        let inside = Arc::new(inside);
        if inside.remote.is_some() {
            let thread = |error| CollectorError::Io("cannot work on the store".to_owned(), error);
            remote::begin(&inside).map_err(thread)?;
        }
        let terms = Terms { most: MOST_CONNECTIONS, tls };
        Ok(Collector { listener, terms, collecting: Collecting(inside) })
    }

    /// The tokens of the store.
    pub fn tokens(&self) -> &Tokens {
        &self.collecting.tokens
    }

    /// Its address for a browser, without a token.
    pub fn url(&self) -> String {
        let names = &self.collecting.names;
        let scheme = if self.terms.tls.is_some() { "https" } else { "http" };
        let address = self.listener.local_addr().map(|bound| bound.ip());
        let host = match address {
            Ok(ip) if ip.is_unspecified() || ip.is_loopback() => "127.0.0.1".to_owned(),
            Ok(ip) if ip.is_ipv6() => format!("[{ip}]"),
            Ok(ip) => ip.to_string(),
            Err(_) => "127.0.0.1".to_owned(),
        };
        format!("{scheme}://{host}:{}/", names.port)
    }

    /// Answers until `stop` is done.
    pub fn run(self, stop: impl Future<Output = ()>) -> io::Result<()> {
        allow_files();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("hodo-serve")
            .enable_all()
            .build()?;
        let store = Arc::downgrade(&self.collecting.shared.store);
        std::thread::Builder::new()
            .name("hodo-watch".into())
            .spawn(move || crate::watch::watch(&store))?;
        let inside = Arc::downgrade(&self.collecting.0);
        std::thread::Builder::new()
            .name("hodo-janitor".into())
            .spawn(move || janitor::work(&inside))?;
        let stopped = self.collecting.0.clone();
        let inside = Arc::downgrade(&self.collecting.0);
        std::thread::Builder::new().name("hodo-otlp".into()).spawn(move || otlp::work(&inside))?;
        let answered = runtime.block_on(async move {
            let listener = TcpListener::from_std(self.listener)?;
            connection::serve(listener, self.terms, router(self.collecting), stop).await
        });
        runtime.shutdown_background();
        answered.and(pack::forgive(&stopped)).and(otlp::forgive(&stopped))
    }

    /// Answers until Ctrl-C, or until it is told to end.
    pub fn run_until_interrupted(self) -> io::Result<()> {
        self.run(crate::interrupted())
    }
}

/// Connections are files too, and many systems allow few of them until asked.
fn allow_files() {
    // SAFETY: the limit is filled by the first call; where that or the second fails, it stays.
    unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) == 0 {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
        }
    }
}

/// Beyond this machine only what cannot be listened in on.
fn refuse_exposure(options: &CollectorOptions) -> Result<(), CollectorError> {
    let is_safe = options.bind.ip().is_loopback() || options.tls.is_some() || options.behind_proxy;
    match is_safe {
        true => Ok(()),
        false => Err(CollectorError::Exposed(format!(
            "{} is reached by other machines, and tokens would go there in the open: give \
             --tls-cert and --tls-key, or --behind-proxy where a proxy in front does TLS, or bind \
             to 127.0.0.1",
            options.bind
        ))),
    }
}

/// The names by which it is reached, besides those of loopback.
fn names(options: &CollectorOptions, bound: SocketAddr) -> Vec<String> {
    let own = (!bound.ip().is_unspecified()).then(|| match bound.ip() {
        std::net::IpAddr::V6(ip) => format!("[{ip}]"),
        std::net::IpAddr::V4(ip) => ip.to_string(),
    });
    options.hosts.iter().cloned().chain(own).collect()
}

/// Declares the routes once: for the router, and as a list for its tests and its description.
macro_rules! routes {
    ($($path:literal => $handler:expr,)*) => {
        /// The path of every route that `hodo view` does not have.
        #[cfg(test)]
        pub const PATHS: &[&str] = &[$($path),*];

        fn routes() -> Router<Collecting> {
            Router::new()$(.route($path, $handler))*
        }
    };
}

routes! {
    "/api/ingest/runs/{run}" => get(ingest::files),
    "/api/ingest/runs/{run}/files/{part}/{name}" => put(ingest::put),
    "/api/ingest/runs/{run}/beat" => post(ingest::beat),
    "/api/runs/{run}" => delete(remove::remove),
    "/v1/traces" => post(otlp::traces),
    "/metrics" => get(metrics::metrics),
}

/// All routes behind the guard.
fn router(collecting: Collecting) -> Router {
    let guard = axum::middleware::from_fn_with_state(collecting.clone(), guard::guard);
    let admit = axum::middleware::from_fn_with_state(collecting.clone(), admit::admit);
    let reading = crate::reading(collecting.shared.clone()).layer(admit);
    routes().with_state(collecting).merge(reading).layer(guard)
}

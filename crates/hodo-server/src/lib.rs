//! The page of a run, and the API it reads: `hodo view`.
//!
//! A server for one person on one machine: it listens on loopback only, answers nobody without the
//! token in the printed URL, and changes nothing. All numbers come from [`hodo_trace`].

mod api;
mod body;
mod collect;
mod connection;
mod error;
mod guard;
mod guests;
mod memory;
mod page;
mod share;
mod stall;
mod state;
mod store;
mod token;
mod turn;
mod watch;

pub use collect::{
    Collector, CollectorError, CollectorOptions, TokenInfo, TokenKind, TokenLimits, Tokens,
};
pub use share::share;

use axum::Router;
use connection::Terms;
use page::Files;
use state::{Door, Shared, State};
use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use store::Store;
use token::Token;
use tokio::net::TcpListener;
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;

/// Connections at a time.
const MOST_CONNECTIONS: usize = 256;

/// A server that listens and does not answer yet.
pub struct Server {
    listener: std::net::TcpListener,
    door: Arc<Door>,
    shared: Shared,
}

impl Server {
    /// Listens on loopback for questions about the runs in `dir`; port 0 takes any that is free.
    pub fn bind(dir: &Path, port: u16) -> io::Result<Server> {
        let listener = std::net::TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        let door = Arc::new(Door { token: Token::new()?, port });
        let (files, store) = (Files::from_environment(), Arc::new(Store::new(dir)));
        Ok(Server { listener, door, shared: Shared(Arc::new(State { files, store })) })
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.door.port
    }

    /// The address to open, with the token; of one run where an id is given.
    pub fn url(&self, run: Option<&str>) -> String {
        let view = run.map(|id| format!("#/run/{id}/overview")).unwrap_or_default();
        format!("http://127.0.0.1:{}/?token={}{view}", self.port(), self.door.token.text())
    }

    /// Answers until `stop` is done.
    pub fn run(self, stop: impl Future<Output = ()>) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("hodo-view")
            .enable_all()
            .build()?;
        let store = Arc::downgrade(&self.shared.store);
        std::thread::Builder::new()
            .name("hodo-watch".into())
            .spawn(move || watch::watch(&store))?;
        let answered = runtime.block_on(async move {
            let listener = TcpListener::from_std(self.listener)?;
            let router = router(self.shared, self.door);
            let terms = Terms { most: MOST_CONNECTIONS, tls: None };
            connection::serve(listener, terms, router, stop).await
        });
        // What is still being computed is for nobody.
        runtime.shutdown_background();
        answered
    }

    /// Answers until Ctrl-C, or until it is told to end.
    pub fn run_until_interrupted(self) -> io::Result<()> {
        self.run(interrupted())
    }
}

/// Done on Ctrl-C, or when the program is told to end.
async fn interrupted() {
    use tokio::signal::unix::{SignalKind, signal};
    let mut ended = signal(SignalKind::terminate()).ok();
    let end = async {
        match &mut ended {
            Some(ended) => drop(ended.recv().await),
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        () = end => {}
    }
}

/// The routes behind the guard.
fn router(shared: Shared, door: Arc<Door>) -> Router {
    reading(shared).layer(axum::middleware::from_fn_with_state(door, guard::guard))
}

/// The page and its API, for whoever got past a guard.
fn reading(shared: Shared) -> Router {
    // Most answers go no further than this machine, and none is sent twice.
    let compression = CompressionLayer::new().quality(CompressionLevel::Fastest);
    api::router(shared).layer(compression).layer(axum::middleware::from_fn(body::whole))
}

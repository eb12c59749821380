//! Connections: how many, how long each may take to ask.

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};

/// Connections at a time; more are closed at once.
const MOST_CONNECTIONS: usize = 256;
/// Within this a request's head has to be there; a connection without one ends.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// What a request's head may be long.
const MOST_HEAD_BYTES: usize = 64 << 10;
/// Answers that are being written when the server is told to stop get this long.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Serves until `stop` is done.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    let room = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let (stopping, stopped) = watch::channel(false);
    let mut stop = std::pin::pin!(stop);
    loop {
        let stream = tokio::select! {
            () = &mut stop => break,
            accepted = listener.accept() => accepted,
        };
        let stream = match stream {
            Ok((stream, _)) => stream,
            // Of one connection, or of all for now: too many files.
            Err(_) => {
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        if let Ok(place) = room.clone().try_acquire_owned() {
            let (router, stopped) = (router.clone(), stopped.clone());
            tokio::spawn(async move {
                converse(stream, router, stopped).await;
                drop(place);
            });
        }
    }
    drop(listener);
    // Nobody listens where no connection is open.
    let _ = stopping.send(true);
    drop(stopped);
    let _ = tokio::time::timeout(LAST_WORDS, stopping.closed()).await;
    Ok(())
}

async fn converse(stream: TcpStream, router: Router, mut stopped: watch::Receiver<bool>) {
    // Small answers should not wait for more to be said.
    let _ = stream.set_nodelay(true);
    let service = TowerToHyperService::new(router);
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(MOST_HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        // Whatever went wrong on the other side is that side's.
        _ = connection.as_mut() => {}
        _ = stopped.changed() => {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }
}

//! Connections: how many, how long each may take to ask.

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio_rustls::TlsAcceptor;

/// Within this a request's head has to be there; a connection without one ends.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// What a request's head may be long.
const MOST_HEAD_BYTES: usize = 64 << 10;
/// Answers that are being written when the server is told to stop get this long.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// How connections are taken.
pub struct Terms {
    /// So many at a time; more are closed at once.
    pub most: usize,
    /// All that is said goes through TLS.
    pub tls: Option<TlsAcceptor>,
}

/// Serves until `stop` is done.
pub async fn serve(
    listener: TcpListener,
    Terms { most, tls }: Terms,
    router: Router,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    let room = Arc::new(Semaphore::new(most));
    let (stopping, stopped) = watch::channel(false);
    let mut stop = std::pin::pin!(stop);
    loop {
        let stream = tokio::select! {
            // Whoever is answered can be sure that the server hears when it is told to stop.
            biased;
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
            let (tls, router, stopped) = (tls.clone(), router.clone(), stopped.clone());
            // Small answers should not wait for more to be said.
            let _ = stream.set_nodelay(true);
            tokio::spawn(async move {
                match tls {
                    None => converse(stream, router, stopped).await,
                    Some(tls) => {
                        let greeted = tokio::time::timeout(HEAD_TIME, tls.accept(stream)).await;
                        if let Ok(Ok(stream)) = greeted {
                            converse(stream, router, stopped).await;
                        }
                    }
                }
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

async fn converse(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    router: Router,
    mut stopped: watch::Receiver<bool>,
) {
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

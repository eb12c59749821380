//! Connections: how many, how long each may take to ask and to read the answer.

use crate::guests::{Guest, Guests};
use crate::stall::Impatient;
use axum::Router;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

/// Within this a request's head has to be there; a connection without one ends.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// What a request's head may be long.
const MOST_HEAD_BYTES: usize = 64 << 10;
/// Answers that are being written when the server is told to stop get this long.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// How connections are taken.
pub struct Terms {
    /// So many at a time; for more, those leave who have shown no token.
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
    let guests = Guests::new(most);
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
        if let Some(place) = guests.enter() {
            let (tls, router, stopped) = (tls.clone(), router.clone(), stopped.clone());
            // Small answers should not wait for more to be said.
            let _ = stream.set_nodelay(true);
            let stream = Impatient::new(stream);
            let guest = place.guest.clone();
            let talk = async move {
                match tls {
                    None => converse(stream, router, guest, stopped).await,
                    Some(tls) => {
                        let greeted = tokio::time::timeout(HEAD_TIME, tls.accept(stream)).await;
                        if let Ok(Ok(stream)) = greeted {
                            converse(stream, router, guest, stopped).await;
                        }
                    }
                }
            };
            tokio::spawn(async move {
                tokio::select! {
                    () = talk => {}
                    () = place.guest.leave() => {}
                }
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
    guest: Arc<Guest>,
    mut stopped: watch::Receiver<bool>,
) {
    let router = TowerToHyperService::new(router);
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(guest.clone());
        router.call(request)
    });
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

#[cfg(test)]
mod tests {
    use super::*;
    use axum::routing::get;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    /// Asks for a long answer, reads so much of it, and says whether the connection ended.
    async fn is_ended_after(read_bytes: usize) -> bool {
        let long = get(|| async { vec![b'x'; 1 << 20] });
        let router = Router::new().route("/", long);
        let (ours, mut theirs) = duplex(1024);
        let (_stopping, stopped) = watch::channel(false);
        let connection =
            tokio::spawn(converse(Impatient::new(ours), router, Arc::default(), stopped));
        let asked =
            theirs.write_all(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").await;
        asked.unwrap_or_else(|error| panic!("{error}"));
        let mut taken = theirs.take(read_bytes as u64);
        let read = tokio::io::copy(&mut taken, &mut tokio::io::sink()).await;
        assert_eq!(read.ok().map(|bytes| bytes as usize), Some(read_bytes));
        tokio::time::sleep(Duration::from_secs(60)).await;
        // The other side is still open.
        let is_ended = connection.is_finished();
        drop(taken);
        is_ended
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_nobody_reads_does_not_hold_its_connection() {
        assert!(is_ended_after(0).await);
        assert!(is_ended_after(100_000).await);
    }

    #[tokio::test]
    async fn silent_connections_shut_nobody_out_who_may_ask() -> io::Result<()> {
        async fn ask(stream: &mut tokio::net::TcpStream) -> io::Result<bool> {
            stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await?;
            let mut answer = Vec::new();
            while !answer.ends_with(b"\r\n\r\n") {
                answer.push(stream.read_u8().await?);
            }
            Ok(answer.starts_with(b"HTTP/1.1 200"))
        }
        let known =
            get(|guest: axum::Extension<Arc<Guest>>| async move { guest.came_with(Some("a")) });
        let router = Router::new().route("/", known);
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let terms = Terms { most: 4, tls: None };
        let serving = tokio::spawn(serve(listener, terms, router, std::future::pending()));
        let mut first = tokio::net::TcpStream::connect(address).await?;
        assert!(ask(&mut first).await?);
        let mut silent = Vec::new();
        for _ in 0..20 {
            silent.push(tokio::net::TcpStream::connect(address).await?);
        }
        let mut next = tokio::net::TcpStream::connect(address).await?;
        assert!(ask(&mut next).await?, "there is a place for one who asks");
        assert!(ask(&mut first).await?, "and who asked before has kept theirs");
        let mut ended = [0; 1];
        assert_eq!(silent[0].read(&mut ended).await?, 0, "the first of the silent has left");
        serving.abort();
        Ok(())
    }
}

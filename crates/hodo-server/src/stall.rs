//! A connection whose other side takes too long to read what it asked for.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// So long a reader may keep an answer waiting, in all.
const STALL_TIME: Duration = Duration::from_secs(30);
/// Bytes that give it a second back.
const LEAST_RATE: u64 = 32 << 10;

/// A connection that fails when what is written to it is not taken: for [`STALL_TIME`], or more slowly
/// than [`LEAST_RATE`] for long. What waits for something to be written costs nothing.
pub struct Impatient<S> {
    stream: S,
    /// How long it has kept us waiting, less what it took since.
    waited: Duration,
    /// Since when it does now.
    since: Option<Instant>,
    alarm: Option<Pin<Box<Sleep>>>,
}

impl<S> Impatient<S> {
    /// Around `stream`.
    pub fn new(stream: S) -> Impatient<S> {
        Impatient { stream, waited: Duration::ZERO, since: None, alarm: None }
    }

    /// It took so many bytes.
    fn took(&mut self, bytes: usize) {
        if let Some(since) = self.since.take() {
            self.waited += since.elapsed();
        }
        let earned = Duration::from_secs_f64(bytes as f64 / LEAST_RATE as f64);
        self.waited = self.waited.saturating_sub(earned);
    }

    /// It takes nothing now: waits, as long as there is patience.
    fn wait<T>(&mut self, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        if self.since.is_none() {
            let now = Instant::now();
            self.since = Some(now);
            let until = now + STALL_TIME.saturating_sub(self.waited);
            match &mut self.alarm {
                Some(alarm) => alarm.as_mut().reset(until),
                None => self.alarm = Some(Box::pin(tokio::time::sleep_until(until))),
            }
        }
        if let Some(alarm) = &mut self.alarm {
            ready!(alarm.as_mut().poll(context));
        }
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "what was asked for is not read")))
    }

    fn written(
        &mut self,
        context: &mut Context<'_>,
        result: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        match result {
            Poll::Pending => self.wait(context),
            Poll::Ready(result) => {
                self.took(*result.as_ref().unwrap_or(&0));
                Poll::Ready(result)
            }
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Impatient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Impatient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.written(context, result)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        self.written(context, result)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    // Neither waits for the other side: what was written lies with the system.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    /// Writes `bytes` to one who takes `piece` of them every so often; and how long that took.
    async fn write(bytes: usize, piece: usize, every: Duration) -> (bool, Duration) {
        let (ours, mut theirs) = duplex(64);
        let began = Instant::now();
        let reader = tokio::spawn(async move {
            let mut buffer = vec![0; piece.max(1)];
            loop {
                tokio::time::sleep(every).await;
                if piece > 0 && theirs.read(&mut buffer).await.unwrap_or(0) == 0 {
                    return;
                }
            }
        });
        let mut stream = Impatient::new(ours);
        let is_written = stream.write_all(&vec![7; bytes]).await.is_ok();
        let took = began.elapsed();
        reader.abort();
        (is_written, took)
    }

    #[tokio::test(start_paused = true)]
    async fn who_reads_nothing_or_a_byte_now_and_then_is_given_up() {
        let (is_written, took) = write(1000, 0, Duration::from_secs(1)).await;
        assert!(!is_written && took >= STALL_TIME && took < STALL_TIME + Duration::from_secs(2));
        let (is_written, took) = write(1000, 1, Duration::from_secs(5)).await;
        assert!(!is_written && took < STALL_TIME * 2, "{took:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn who_is_slow_and_steady_gets_it_all() {
        // 64 bytes every millisecond, for minutes.
        let (is_written, took) = write(16 << 20, 64, Duration::from_millis(1)).await;
        assert!(is_written && took > STALL_TIME * 2, "{took:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_with_nothing_to_write_counts_for_nothing() -> io::Result<()> {
        let (ours, mut theirs) = duplex(64);
        let mut stream = Impatient::new(ours);
        for _ in 0..3 {
            stream.write_all(b"event").await?;
            let mut event = [0; 5];
            theirs.read_exact(&mut event).await?;
            tokio::time::sleep(STALL_TIME * 2).await;
        }
        Ok(())
    }
}

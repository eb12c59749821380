//! Bodies: how long, how fast, how much at once, and what they unfold to.

use super::refusal::Refusal;
use super::room::{Place, Room};
use axum::body::Body;
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use axum::http::{HeaderMap, StatusCode};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use std::io::{self, Read};
use std::time::{Duration, Instant};

/// Bytes of a body.
pub const MOST_BODY_BYTES: usize = 16 << 20;
/// A body has this long, and a second more for each [`LEAST_RATE`] of it.
const GRACE: Duration = Duration::from_secs(10);
/// Bytes in a second; who sends slower is given up.
const LEAST_RATE: usize = 32 << 10;
/// How long a sender waits for room before it is told to come back.
const PATIENCE: Duration = Duration::from_secs(5);

/// How a body is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Not at all.
    Identity,
    /// One or more frames of zstd.
    Zstd,
    /// gzip.
    Gzip,
}

impl Encoding {
    /// What the request says, if it is one of `known`.
    pub fn of(headers: &HeaderMap, known: &[Encoding]) -> Result<Encoding, Refusal> {
        let mut told = headers.get_all(CONTENT_ENCODING).iter();
        let encoding = match (told.next().map(|value| value.as_bytes()), told.next()) {
            (None | Some(b"" | b"identity"), None) => Some(Encoding::Identity),
            (Some(b"zstd"), None) => Some(Encoding::Zstd),
            (Some(b"gzip"), None) => Some(Encoding::Gzip),
            _ => None,
        };
        encoding.filter(|encoding| known.contains(encoding)).ok_or_else(|| {
            let words: Vec<&str> = known.iter().map(|encoding| encoding.word()).collect();
            let words = format!("the body may be {}", words.join(" or "));
            Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, words)
        })
    }

    fn word(self) -> &'static str {
        match self {
            Encoding::Identity => "identity",
            Encoding::Zstd => "zstd",
            Encoding::Gzip => "gzip",
        }
    }
}

/// A body with the room that it and what it unfolds to take.
pub struct Received {
    bytes: Bytes,
    _place: Place,
}

impl Room {
    /// Receives a body that unfolds to `most` bytes or fewer, sent with that token.
    pub async fn receive(
        &self,
        token: &str,
        headers: &HeaderMap,
        body: Body,
        most: usize,
    ) -> Result<Received, Refusal> {
        let length = match headers.get(CONTENT_LENGTH) {
            None => MOST_BODY_BYTES,
            Some(told) => {
                let told = told.to_str().ok().and_then(|told| told.parse::<usize>().ok());
                told.ok_or_else(|| Refusal::bad("Content-Length is no number"))?
            }
        };
        if length > MOST_BODY_BYTES {
            return Err(too_long());
        }
        let wait = tokio::time::timeout(PATIENCE, self.place(token, length + most)).await;
        let place = wait.map_err(|_| Refusal::later("too much is being received at once", 1))?;
        let bytes = collect(body, length).await?;
        Ok(Received { bytes, _place: place })
    }
}

impl Received {
    /// What was sent, unfolded; refused once it is more than `most` bytes.
    pub fn unfold(&self, encoding: Encoding, most: usize) -> Result<Bytes, Refusal> {
        let unfolded = match encoding {
            Encoding::Identity => self.bytes.clone(),
            Encoding::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::with_buffer(&*self.bytes)?;
                decoder.window_log_max(WINDOW_LOG)?;
                limited(decoder, most).map_err(|error| self.garbled(error, ZSTD_MAGIC))?
            }
            Encoding::Gzip => {
                let decoder = flate2::read::MultiGzDecoder::new(&*self.bytes);
                limited(decoder, most).map_err(|error| self.garbled(error, GZIP_MAGIC))?
            }
        };
        if unfolded.len() > most { Err(unfolds(most)) } else { Ok(unfolded) }
    }

    /// As of bytes that do not match their checksum: what was sent may have come out garbled. What does not
    /// even begin as it should was never folded so, and comes no other way the next time.
    fn garbled(&self, error: io::Error, magic: &[u8]) -> Refusal {
        let refusal = |words| Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, words);
        if self.bytes.starts_with(magic) {
            refusal(format!("the body cannot be unfolded: {error}; send it again"))
        } else {
            let words = "the body cannot be unfolded: it is not what Content-Encoding says";
            refusal(words.to_owned()).for_good()
        }
    }
}

/// What bodies begin with.
const ZSTD_MAGIC: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
const GZIP_MAGIC: &[u8] = &[0x1f, 0x8b];

/// A frame of zstd says how much it looks back, and so what unfolding it takes: 8 MiB at most.
const WINDOW_LOG: u32 = 23;

fn limited(from: impl Read, most: usize) -> io::Result<Bytes> {
    let mut unfolded = Vec::new();
    from.take(most as u64 + 1).read_to_end(&mut unfolded)?;
    Ok(Bytes::from(unfolded))
}

fn unfolds(most: usize) -> Refusal {
    let words = format!("the body unfolds to more than {most} bytes");
    Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, words)
}

fn too_long() -> Refusal {
    let words = format!("the body is longer than {MOST_BODY_BYTES} bytes");
    Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, words)
}

/// Waits for the whole body, as long as it comes.
async fn collect(mut body: Body, expected: usize) -> Result<Bytes, Refusal> {
    let began = Instant::now();
    let mut whole = BytesMut::with_capacity(expected.min(1 << 20));
    loop {
        let has = GRACE + Duration::from_secs((whole.len() / LEAST_RATE) as u64);
        let left = has.saturating_sub(began.elapsed());
        let slow = |_| Refusal::new(StatusCode::REQUEST_TIMEOUT, "the body came too slowly");
        let Some(frame) = tokio::time::timeout(left, body.frame()).await.map_err(slow)? else {
            return Ok(whole.freeze());
        };
        let cut = |_| Refusal::new(StatusCode::REQUEST_TIMEOUT, "the body broke off");
        let frame = frame.map_err(cut)?;
        if let Ok(data) = frame.into_data() {
            if whole.len() + data.len() > MOST_BODY_BYTES {
                return Err(too_long());
            }
            whole.extend_from_slice(&data);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn received(bytes: Vec<u8>) -> Result<Received, Refusal> {
        Room::new().receive("a", &HeaderMap::new(), Body::from(bytes), 1 << 20).await
    }

    #[tokio::test]
    async fn what_unfolds_to_too_much_is_refused_before_it_is_unfolded() -> Result<(), Refusal> {
        let bomb = zstd::encode_all(std::io::repeat(0).take(1 << 30), 1)?;
        assert!(bomb.len() < 1 << 17);
        let refused = received(bomb).await?.unfold(Encoding::Zstd, 4 << 20);
        assert_eq!(refused.err().map(|r| r.status), Some(StatusCode::PAYLOAD_TOO_LARGE));
        let mut bomb = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::copy(&mut std::io::repeat(0).take(1 << 28), &mut bomb)?;
        let refused = received(bomb.finish()?).await?.unfold(Encoding::Gzip, 4 << 20);
        assert_eq!(refused.err().map(|r| r.status), Some(StatusCode::PAYLOAD_TOO_LARGE));
        Ok(())
    }

    #[tokio::test]
    async fn a_frame_that_wants_a_huge_window_is_refused() -> Result<(), Refusal> {
        // Magic, a descriptor without a length, a window of 2^41 bytes, one empty last block.
        let frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xf8, 0x01, 0x00, 0x00];
        let refused = received(frame).await?.unfold(Encoding::Zstd, 4 << 20);
        assert_eq!(refused.err().map(|r| r.status), Some(StatusCode::UNPROCESSABLE_ENTITY));
        Ok(())
    }

    #[tokio::test]
    async fn what_was_never_folded_is_not_asked_for_again() -> Result<(), Refusal> {
        let mut folded = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::copy(&mut &b"spans"[..], &mut folded)?;
        let mut spoilt = folded.finish()?;
        if let Some(last) = spoilt.last_mut() {
            *last ^= 1;
        }
        for (body, status) in [(spoilt, 503), (b"{}".to_vec(), 422)] {
            let refused = received(body).await?.unfold(Encoding::Gzip, 4 << 20).err();
            let refused = refused.map(|refusal| refusal.for_otlp().status.as_u16());
            assert_eq!(refused, Some(status));
        }
        Ok(())
    }

    #[tokio::test]
    async fn a_body_that_broke_off_may_be_sent_again() {
        let pieces = [Ok("half of"), Err(std::io::Error::other("reset"))];
        let body = Body::from_stream(futures_util::stream::iter(pieces));
        let refused = Room::new().receive("a", &HeaderMap::new(), body, 0).await.err();
        assert_eq!(refused.map(|r| r.status), Some(StatusCode::REQUEST_TIMEOUT));
    }

    #[tokio::test]
    async fn what_came_out_garbled_may_be_sent_again() -> Result<(), Refusal> {
        for encoding in [Encoding::Zstd, Encoding::Gzip] {
            let refused = received(b"no such thing".to_vec()).await?.unfold(encoding, 100);
            assert_eq!(refused.err().map(|r| r.status), Some(StatusCode::UNPROCESSABLE_ENTITY));
        }
        let long = received(vec![0; 101]).await?.unfold(Encoding::Identity, 100);
        assert_eq!(long.err().map(|r| r.status), Some(StatusCode::PAYLOAD_TOO_LARGE));
        Ok(())
    }
}

//! Posting batches to a collector: again where that may help, and not without end.

use super::proto::Response;
use super::{ConvertError, Sent, batches};
use crate::OnProgress;
use hodo_trace::Run;
use prost::Message;
use std::time::Duration;

/// Tries of one batch.
const TRIES: u32 = 5;
/// The pause before the second try; each further one is twice as long.
const PAUSE: Duration = Duration::from_millis(500);
/// The longest pause that a collector may ask for.
const MOST_PAUSE: Duration = Duration::from_secs(30);
/// How long one try may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// What is read of an answer.
const ANSWER_BYTES: u64 = 64 << 10;
/// Where collectors take traces.
const PATH: &str = "/v1/traces";

/// Why a collector did not get a run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// The run could not be put into batches.
    #[error(transparent)]
    Convert(#[from] ConvertError),
    /// The address makes no sense.
    #[error("{0}: not an address like http://localhost:4318")]
    Address(String),
    /// The address wants TLS.
    #[error(
        "{0}: https is not spoken here; send to a collector on this machine, which passes it on"
    )]
    Tls(String),
    /// A header makes no sense.
    #[error("{0}: not a header like `authorization=Bearer x`")]
    Header(String),
    /// The collector could not be reached.
    #[error("cannot reach {url} ({tries} tries): {why}{}", after(*.sent))]
    Unreachable {
        /// Its address.
        url: String,
        /// What the last try failed with.
        why: String,
        /// How often it was tried.
        tries: u32,
        /// Spans it had taken before.
        sent: u64,
    },
    /// The collector refused.
    #[error("{url} refuses: {status}{}{}", said(.why), after(*.sent))]
    Refused {
        /// Its address.
        url: String,
        /// Its answer.
        status: u16,
        /// What it said.
        why: String,
        /// Spans it had taken before.
        sent: u64,
    },
    /// The collector took a batch and left out some of it.
    #[error("{url} left out {spans} spans{}", said(.why))]
    LeftOut {
        /// Its address.
        url: String,
        /// How many.
        spans: i64,
        /// What it said.
        why: String,
    },
}

fn after(sent: u64) -> String {
    if sent == 0 { String::new() } else { format!("; {sent} spans were taken before") }
}

fn said(why: &str) -> String {
    let why: String = why.trim().chars().take(200).collect();
    if why.is_empty() { why } else { format!(" ({why})") }
}

/// A collector that takes OTLP over HTTP.
pub struct Collector {
    url: String,
    headers: Vec<(String, String)>,
    agent: ureq::Agent,
    pause: Duration,
}

impl Collector {
    /// The collector at `endpoint`; without a path, the one that collectors have. `headers` go with
    /// every batch, each `key=value`.
    pub fn new(endpoint: &str, headers: &[String]) -> Result<Collector, SendError> {
        let rest = match endpoint.split_once("://") {
            Some((scheme, _)) if scheme.eq_ignore_ascii_case("https") => {
                return Err(SendError::Tls(endpoint.to_owned()));
            }
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => rest,
            _ => return Err(SendError::Address(endpoint.to_owned())),
        };
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        if host.is_empty() || endpoint.contains(char::is_whitespace) {
            return Err(SendError::Address(endpoint.to_owned()));
        }
        let path = if path.is_empty() { PATH.to_owned() } else { format!("/{path}") };
        let header = |header: &String| {
            let (key, value) = header.split_once('=').filter(|(key, _)| !key.is_empty())?;
            let is_plain = |text: &str| text.chars().all(|c| c.is_ascii_graphic() || c == ' ');
            (is_plain(key) && is_plain(value)).then(|| (key.to_owned(), value.to_owned()))
        };
        let headers = headers
            .iter()
            .map(|told| header(told).ok_or_else(|| SendError::Header(told.clone())))
            .collect::<Result<_, _>>()?;
        let agent = ureq::Agent::config_builder()
            .timeout_global(Some(PATIENCE))
            .http_status_as_error(false)
            .max_redirects(0)
            .build()
            .into();
        Ok(Collector { url: format!("http://{host}{path}"), headers, agent, pause: PAUSE })
    }

    /// The same with another first pause.
    #[doc(hidden)]
    pub fn pausing(self, pause: Duration) -> Collector {
        Collector { pause, ..self }
    }

    /// Its address.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Sends `run`.
    pub fn send(&self, run: &Run, progress: OnProgress<'_>) -> Result<Sent, SendError> {
        let mut sent = 0;
        let mut take = |bytes: &[u8], spans: u64| {
            self.batch(bytes, sent)?;
            sent += spans;
            Ok(())
        };
        batches(run, &mut take, progress)
    }

    fn batch(&self, bytes: &[u8], sent: u64) -> Result<(), SendError> {
        let mut pause = self.pause;
        for tries in 1.. {
            let (why, wanted) = match self.post(bytes) {
                Ok(Answer { status: 200..300, body, .. }) => return self.taken(&body),
                Ok(Answer { status: status @ (429 | 502 | 503 | 504), body, wait }) => {
                    (format!("{status}{}", said(&body_text(&body))), wait)
                }
                Ok(Answer { status, body, .. }) => {
                    let (url, why) = (self.url.clone(), body_text(&body));
                    return Err(SendError::Refused { url, status, why, sent });
                }
                Err(error) => (error.to_string(), None),
            };
            if tries == TRIES {
                return Err(SendError::Unreachable { url: self.url.clone(), why, tries, sent });
            }
            std::thread::sleep(wanted.unwrap_or(pause).min(MOST_PAUSE));
            pause *= 2;
        }
        Ok(())
    }

    fn taken(&self, body: &[u8]) -> Result<(), SendError> {
        let partial = Response::decode(body).ok().and_then(|answer| answer.partial_success);
        match partial.filter(|partial| partial.rejected_spans > 0) {
            None => Ok(()),
            Some(partial) => Err(SendError::LeftOut {
                url: self.url.clone(),
                spans: partial.rejected_spans,
                why: partial.error_message,
            }),
        }
    }

    fn post(&self, bytes: &[u8]) -> Result<Answer, ureq::Error> {
        let mut request =
            self.agent.post(&self.url).header("content-type", "application/x-protobuf");
        for (key, value) in &self.headers {
            request = request.header(key, value);
        }
        let mut answer = request.send(bytes)?;
        let wait = answer.headers().get("retry-after").and_then(|value| value.to_str().ok());
        let wait = wait.and_then(|seconds| seconds.parse().ok()).map(Duration::from_secs);
        let body = answer.body_mut().with_config().limit(ANSWER_BYTES).read_to_vec();
        // What it took is known without the words it said.
        Ok(Answer { status: answer.status().as_u16(), body: body.unwrap_or_default(), wait })
    }
}

struct Answer {
    status: u16,
    body: Vec<u8>,
    wait: Option<Duration>,
}

fn body_text(body: &[u8]) -> String {
    String::from_utf8_lossy(body).chars().filter(|c| !c.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_headers_are_checked_before_anything_is_sent() {
        let url = |endpoint: &str| Collector::new(endpoint, &[]).map(|c| c.url);
        assert_eq!(
            url("http://localhost:4318").ok().as_deref(),
            Some("http://localhost:4318/v1/traces")
        );
        assert_eq!(url("http://a/").ok().as_deref(), Some("http://a/v1/traces"));
        assert_eq!(url("HTTP://a/x/y").ok().as_deref(), Some("http://a/x/y"));
        assert!(matches!(url("https://a"), Err(SendError::Tls(_))));
        for odd in ["localhost:4318", "http://", "ftp://a", "http://a b"] {
            assert!(matches!(url(odd), Err(SendError::Address(_))), "{odd}");
        }
        for odd in ["x", "=y", "a=b\r\nc: d"] {
            let made = Collector::new("http://a", &[odd.to_owned()]);
            assert!(matches!(made, Err(SendError::Header(_))), "{odd:?}");
        }
    }
}

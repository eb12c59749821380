//! Who may ask a collector what: tokens of the right kind, from pages that it served.
//!
//! Every request passes here before it is routed, whatever its path and method.

use super::Collecting;
use super::tokens::{TokenInfo, TokenKind};
use crate::guard::{
    Refused, bearer, came_with, cookie, entered, host, is_loopback, is_same_origin,
};
use crate::guard::{is_same_site, refuse, sealed, token_in, without_port};
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;

/// What goes on for as long as a page is open.
const EVENTS: &str = "/api/events";

/// Who asks.
#[derive(Clone, Debug)]
pub struct Caller(TokenInfo);

impl Caller {
    /// Id of the token that owns what it writes; none where it may write to any run.
    pub fn owner(&self) -> Option<&str> {
        (self.0.kind != TokenKind::Admin).then_some(self.0.id.as_str())
    }

    /// Id of its token.
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// With a token of that id.
    #[cfg(test)]
    pub fn testing(id: &str) -> Caller {
        Caller(TokenInfo {
            id: id.to_owned(),
            name: id.to_owned(),
            kind: TokenKind::Ingest,
            sha256: String::new(),
            made_s: 0,
            max_bytes: None,
            rate: None,
        })
    }

    /// Its token.
    pub fn token(&self) -> &TokenInfo {
        &self.0
    }

    /// Bytes that its runs may take.
    pub fn most_bytes(&self) -> Option<u64> {
        self.0.max_bytes
    }
}

/// How a server is reached from outside.
pub struct Names {
    /// The port that is listened on.
    pub port: u16,
    /// Names besides those of loopback.
    pub hosts: Vec<String>,
    /// Whether browsers reach it by https.
    pub is_https: bool,
}

impl Names {
    fn has(&self, host: &str) -> bool {
        let name = without_port(host);
        is_loopback(host) || self.hosts.iter().any(|ours| name.eq_ignore_ascii_case(ours))
    }

    fn scheme(&self) -> &'static str {
        if self.is_https { "https" } else { "http" }
    }

    fn cookie_name(&self) -> String {
        format!("hodo_{}", self.port)
    }

    fn cookie(&self, token: &str) -> String {
        let secure = if self.is_https { "; Secure" } else { "" };
        format!("{}={token}; Path=/; HttpOnly; SameSite=Strict{secure}", self.cookie_name())
    }
}

/// Lets a request through, or says why not.
pub async fn guard(
    State(collecting): State<Collecting>,
    mut request: Request,
    next: Next,
) -> Response {
    let pass = check(&collecting, &request);
    came_with(&request, pass.as_ref().ok().map(|pass| pass.token.id.as_str()));
    let response = match pass {
        Ok(Pass { token, cookie }) => match collecting.rates.take(&token) {
            Err(refusal) => refusal.into_response(),
            Ok(()) => {
                request.extensions_mut().insert(Caller(token.clone()));
                let goes_on = request.uri().path() == EVENTS;
                let mut answer = next.run(request).await;
                if goes_on {
                    answer = while_known(collecting.clone(), token, answer);
                }
                match cookie {
                    Some(cookie) => entered(answer, &cookie),
                    None => answer,
                }
            }
        },
        Err((status, words)) => refuse(status, words, request.uri().path()),
    };
    collecting.counters.answered(response.status());
    sealed(response)
}

/// An answer that ends with its token: whoever sends it gives a sign of life every few seconds.
fn while_known(collecting: Collecting, token: TokenInfo, answer: Response) -> Response {
    let (head, body) = answer.into_parts();
    let is_known = move |_: &Result<_, _>| std::future::ready(collecting.tokens.has(&token));
    let pieces = body.into_data_stream().take_while(is_known);
    Response::from_parts(head, Body::from_stream(pieces))
}

struct Pass {
    token: TokenInfo,
    /// For someone who followed an address with a token.
    cookie: Option<String>,
}

fn check(collecting: &Collecting, request: &Request) -> Result<Pass, Refused> {
    let (names, headers) = (&collecting.names, request.headers());
    let host = host(request).ok_or((StatusCode::BAD_REQUEST, "the request names no host"))?;
    if !names.has(host) {
        return Err((
            StatusCode::FORBIDDEN,
            "this host name is not the collector's; `hodo serve --host NAME` makes it so",
        ));
    }
    let path = request.uri().path();
    let follows_link = request.method() == Method::GET && path == "/";
    let in_address = token_in(request.uri().query()).filter(|_| follows_link);
    let entering = in_address.and_then(|given| Some((collecting.tokens.find(given)?, given)));
    let opens = entering.as_ref().is_some_and(|(token, _)| token.kind == TokenKind::Read);
    let is_ours = is_same_origin(headers, names.scheme(), host) && (opens || is_same_site(headers));
    if !is_ours {
        return Err((StatusCode::FORBIDDEN, "requests from other pages are refused"));
    }
    match entering {
        Some((token, given)) if opens => {
            return Ok(Pass { token, cookie: Some(names.cookie(given)) });
        }
        Some(_) => {
            return Err((
                StatusCode::FORBIDDEN,
                "the page opens with a read token; `hodo serve token add NAME --kind read` makes one",
            ));
        }
        None => {}
    }
    let sent = bearer(headers).and_then(|given| collecting.tokens.find(given));
    // A browser's cookie reads, and that alone.
    let kept = || {
        let found = collecting.tokens.find(cookie(headers, &names.cookie_name())?)?;
        (found.kind == TokenKind::Read).then_some(found)
    };
    let token = sent.or_else(kept).ok_or_else(|| unknown(collecting))?;
    match may(token.kind, request.method(), path) {
        true => Ok(Pass { token, cookie: None }),
        false => Err((StatusCode::FORBIDDEN, wrong_kind(token.kind))),
    }
}

/// Why no token was found: none that is known was sent, or nobody can tell now, which is no reason for
/// shippers to stop.
fn unknown(collecting: &Collecting) -> Refused {
    match collecting.tokens.all() {
        Ok(_) => (
            StatusCode::UNAUTHORIZED,
            "no token that is known here; `hodo serve token add` makes one, and \
             `Authorization: Bearer TOKEN` sends it",
        ),
        Err(_) => (
            StatusCode::SERVICE_UNAVAILABLE,
            "the collector cannot read its tokens.json; whoever runs it has to mend it, and what \
             is sent then is taken",
        ),
    }
}

/// Whether a token of that kind may ask this.
fn may(kind: TokenKind, method: &Method, path: &str) -> bool {
    let is_ingest =
        path.starts_with("/api/ingest/") || path == "/api/ingest" || path.starts_with("/v1/");
    match kind {
        TokenKind::Admin => true,
        TokenKind::Ingest => is_ingest || path == "/healthz",
        // A question in SQL reads.
        TokenKind::Read => !is_ingest && (*method != Method::DELETE),
    }
}

fn wrong_kind(kind: TokenKind) -> &'static str {
    match kind {
        TokenKind::Ingest => "an ingest token sends runs and does nothing else",
        _ => "a read token reads runs and does nothing else",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_were_told_are_ours() {
        let names = Names {
            port: 1,
            hosts: vec!["runs.example".into(), "10.0.0.7".into()],
            is_https: true,
        };
        for ours in ["localhost:1", "runs.example", "RUNS.example:443", "10.0.0.7:8080"] {
            assert!(names.has(ours), "{ours}");
        }
        for foreign in
            ["", "evil.test", "runs.example.evil.test", "x.runs.example", "runs.example:"]
        {
            assert!(!names.has(foreign), "{foreign}");
        }
    }
}

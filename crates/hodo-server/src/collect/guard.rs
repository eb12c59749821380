//! Who may ask a collector what: tokens of the right kind, from pages that it served.
//!
//! Every request passes here before it is routed, whatever its path and method.

use super::Collecting;
use super::tokens::{TokenInfo, TokenKind};
use crate::guard::{Refused, bearer, cookie, enter, host, is_loopback, is_same_origin};
use crate::guard::{is_same_site, refuse, sealed, token_in, without_port};
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

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
    let response = match check(&collecting, &request) {
        Ok(Pass::Enter(cookie)) => enter(&cookie),
        Ok(Pass::On(token)) => match collecting.rates.take(&token) {
            Err(refusal) => refusal.into_response(),
            Ok(()) => {
                request.extensions_mut().insert(Caller(token));
                next.run(request).await
            }
        },
        Err((status, words)) => refuse(status, words, request.uri().path()),
    };
    collecting.counters.answered(response.status());
    sealed(response)
}

enum Pass {
    /// Someone who followed an address with a token: a cookie, and on without it.
    Enter(String),
    On(TokenInfo),
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
    let entering = in_address.and_then(|given| {
        let found = collecting.tokens.find(given)?;
        (found.kind == TokenKind::Read).then(|| names.cookie(given))
    });
    let is_ours = is_same_origin(headers, names.scheme(), host)
        && (entering.is_some() || is_same_site(headers));
    if !is_ours {
        return Err((StatusCode::FORBIDDEN, "requests from other pages are refused"));
    }
    if let Some(cookie) = entering {
        return Ok(Pass::Enter(cookie));
    }
    let sent = bearer(headers).and_then(|given| collecting.tokens.find(given));
    // A browser's cookie reads, and that alone.
    let kept = || {
        let found = collecting.tokens.find(cookie(headers, &names.cookie_name())?)?;
        (found.kind == TokenKind::Read).then_some(found)
    };
    let token = sent.or_else(kept).ok_or((
        StatusCode::UNAUTHORIZED,
        "no token that is known here; `hodo serve token add` makes one, and \
         `Authorization: Bearer TOKEN` sends it",
    ))?;
    match may(token.kind, request.method(), path) {
        true => Ok(Pass::On(token)),
        false => Err((StatusCode::FORBIDDEN, wrong_kind(token.kind))),
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

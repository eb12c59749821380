//! Who may ask: whoever has the token, from a page that this server served.
//!
//! Every request passes here before it is routed, whatever its method: another site's page may send
//! requests to loopback, and a name of its own may be made to lead there.

use crate::guests::Guest;
use crate::state::Door;
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, CACHE_CONTROL, COOKIE, HOST, ORIGIN, SET_COOKIE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::sync::Arc;

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Nothing from elsewhere is loaded, run or sent to.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
     connect-src 'self'; img-src 'self' data:; font-src 'self'; base-uri 'none'; \
     form-action 'none'; frame-ancestors 'none'";

const HEADERS: [(&str, &str); 7] = [
    ("content-security-policy", POLICY),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), geolocation=(), microphone=()"),
];

/// The one token of a page.
const PAGE: &str = "page";

/// Lets a request through, or says why not.
pub async fn guard(State(door): State<Arc<Door>>, request: Request, next: Next) -> Response {
    let pass = check(&door, &request);
    came_with(&request, pass.is_ok().then_some(PAGE));
    sealed(match pass {
        Ok(Pass::Enter(cookie)) => entered(next.run(request).await, &cookie),
        Ok(Pass::On) => next.run(request).await,
        Err((status, words)) => refuse(status, words, request.uri().path()),
    })
}

/// Whoever sent this stays connected, or not, by the token that it has.
pub(crate) fn came_with(request: &Request, token: Option<&str>) {
    if let Some(guest) = request.extensions().get::<Arc<Guest>>() {
        guest.came_with(token);
    }
}

/// With the headers that every answer has.
pub(crate) fn sealed(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry("cache-control").or_insert(HeaderValue::from_static("no-store"));
    response
}

enum Pass {
    /// Someone who followed the printed URL: the page, and a cookie for what it asks.
    Enter(String),
    On,
}

pub(crate) type Refused = (StatusCode, &'static str);

fn check(door: &Door, request: &Request) -> Result<Pass, Refused> {
    let headers = request.headers();
    let host = host(request).ok_or((StatusCode::BAD_REQUEST, "the request names no host"))?;
    if !is_loopback(host) {
        return Err((
            StatusCode::FORBIDDEN,
            "this host name does not belong to the page; open the URL that `hodo view` printed",
        ));
    }
    let follows_link = request.method() == Method::GET && request.uri().path() == "/";
    let in_address = token_in(request.uri().query()).filter(|given| door.token.is(given));
    let enters = follows_link && in_address.is_some();
    if !is_same_origin(headers, "http", host) || !(enters || is_same_site(headers)) {
        return Err((StatusCode::FORBIDDEN, "requests from other pages are refused"));
    }
    match () {
        () if enters => Ok(Pass::Enter(door.cookie())),
        () if has_token(door, headers) => Ok(Pass::On),
        () => Err((
            StatusCode::UNAUTHORIZED,
            "no token; open the URL that `hodo view` printed, which has it",
        )),
    }
}

/// What the request says it is for; exactly one host.
pub(crate) fn host(request: &Request) -> Option<&str> {
    let mut all = request.headers().get_all(HOST).iter();
    let (first, second) = (all.next(), all.next());
    match (first, second, request.uri().authority()) {
        (Some(host), None, None) => host.to_str().ok(),
        (Some(host), None, Some(named)) => {
            host.to_str().ok().filter(|host| *host == named.as_str())
        }
        _ => None,
    }
}

/// Any port: `ssh -L` may give it another one here.
pub(crate) fn is_loopback(host: &str) -> bool {
    let name = without_port(host);
    ["127.0.0.1", "localhost", "[::1]"].iter().any(|ours| name.eq_ignore_ascii_case(ours))
}

/// The name in what a `Host` header says.
pub(crate) fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.parse::<u16>().is_ok() => name,
        _ => host,
    }
}

pub(crate) fn is_same_origin(headers: &HeaderMap, scheme: &str, host: &str) -> bool {
    headers.get_all(ORIGIN).iter().all(|origin| {
        let from = origin.to_str().ok().and_then(|origin| origin.strip_prefix(scheme));
        let from = from.and_then(|from| from.strip_prefix("://"));
        from.is_some_and(|from| from.eq_ignore_ascii_case(host))
    })
}

/// Browsers say where a request comes from; a typed address comes from nowhere.
pub(crate) fn is_same_site(headers: &HeaderMap) -> bool {
    headers.get_all(FETCH_SITE).iter().all(|site| site == "same-origin" || site == "none")
}

fn has_token(door: &Door, headers: &HeaderMap) -> bool {
    bearer(headers).is_some_and(|given| door.token.is(given))
        || cookie(headers, &door.cookie_name()).is_some_and(|given| door.token.is(given))
}

/// The token that a program sends.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token)
}

/// The token that a browser sends.
pub(crate) fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    cookies.flat_map(|all| all.split(';')).find_map(|pair| {
        let (given, value) = pair.trim().split_once('=')?;
        (given == name).then_some(value)
    })
}

pub(crate) fn token_in(query: Option<&str>) -> Option<&str> {
    query?.split('&').find_map(|pair| pair.strip_prefix("token="))
}

/// The page, with the token as a cookie for what it asks. No redirect: where the link was on another
/// page, a browser takes what it is led to for asked by that one, and sends no cookie. The page
/// takes the token out of the address.
pub(crate) fn entered(mut response: Response, cookie: &str) -> Response {
    let headers = response.headers_mut();
    if let Ok(cookie) = HeaderValue::from_str(cookie) {
        headers.insert(SET_COOKIE, cookie);
    }
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// People get a sentence, programs JSON.
pub(crate) fn refuse(status: StatusCode, words: &str, path: &str) -> Response {
    match path.starts_with("/api/") {
        true => crate::error::ApiError::new(status, words).into_response(),
        false => (status, format!("hodo: {words}\n")).into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_loopback_are_ours() {
        for ours in ["127.0.0.1:80", "localhost", "LOCALHOST:9000", "[::1]:7000", "[::1]"] {
            assert!(is_loopback(ours), "{ours}");
        }
        let foreign = [
            "",
            "evil.test",
            "evil.test:80",
            "127.0.0.1.evil.test",
            "localhost.evil.test:80",
            "127.0.0.1@evil.test",
            "127.0.0.2",
            "::1",
            "localhost:",
            "localhost:x",
        ];
        for foreign in foreign {
            assert!(!is_loopback(foreign), "{foreign}");
        }
    }
}

//! Which collector, and with which token.

use super::failure;
use crate::args::ServerArgs;
use crate::output::Failure;
use hodo_ship::{Server, ShipError, Token};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The collector of `args` and of the environment.
pub fn server(args: &ServerArgs) -> Result<Server, Failure> {
    let Some(url) = args.to.clone().filter(|url| !url.trim().is_empty()) else {
        let why = "no collector: name one with --to https://HOST:PORT, or set HODO_SERVER";
        return Err(Failure::Usage(why.to_owned()));
    };
    let (token, token_file) = token(args.token_file.as_deref())?;
    let patience = time(&args.patience, "--patience 60s")?;
    let ca = args.ca.clone().filter(|file| !file.as_os_str().is_empty());
    let plain_http = args.plain_http;
    Ok(Server { url, token, token_file, ca, patience, plain_http })
}

/// The token, and the file it is from: the one that is named, HODO_TOKEN, or the file that
/// HODO_TOKEN_FILE names.
fn token(file: Option<&Path>) -> Result<(Token, Option<PathBuf>), Failure> {
    let said = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let file = match (file, said("HODO_TOKEN"), said("HODO_TOKEN_FILE")) {
        (Some(file), ..) => file.to_owned(),
        (None, Some(token), _) => {
            let token = Token::new(&token.to_string_lossy());
            return Ok((token.map_err(failure)?, None));
        }
        (None, None, Some(file)) => PathBuf::from(file),
        (None, None, None) => return Err(failure(ShipError::NoToken)),
    };
    Ok((Token::of_file(&file).map_err(failure)?, Some(file)))
}

/// A time with its unit.
pub fn time(text: &str, example: &str) -> Result<Duration, Failure> {
    let hours = |text: &str| Some(text.strip_suffix('h')?.trim().parse::<f64>().ok()? * 3600e9);
    let minutes = |text: &str| Some(text.strip_suffix("min")?.trim().parse::<f64>().ok()? * 60e9);
    let ns = hours(text).or_else(|| minutes(text)).or_else(|| hodo_trace::parse_duration_ns(text));
    // A year is longer than anyone waits, and still a time that can be added to others.
    ns.filter(|ns| ns.is_finite() && (0.0..=3.2e16).contains(ns))
        .map(|ns| Duration::from_nanos(ns as u64))
        .ok_or_else(|| {
            Failure::Usage(format!("`{text}` is no time with its unit; write {example}"))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units_from_milliseconds_to_hours() {
        assert_eq!(time("24h", "").unwrap(), Duration::from_secs(86400));
        assert_eq!(time("1min", "").unwrap(), Duration::from_secs(60));
        assert_eq!(time("250ms", "").unwrap(), Duration::from_millis(250));
        for bad in ["", "h", "12", "-1h", "soon", "1e30h", "nanh"] {
            assert!(time(bad, "x").is_err(), "{bad}");
        }
    }
}

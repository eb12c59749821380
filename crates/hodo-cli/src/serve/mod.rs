//! `hodo serve`: the collector, which takes the runs of many machines and shows them.

mod token;

use crate::args::{ServeArgs, ServeVerb};
use crate::output::{self, Failure, Outcome};
use hodo_server::{Collector, CollectorError, CollectorOptions, TokenKind, TokenLimits, Tokens};
use std::io::Write;
use std::path::Path;
use std::time::Duration;

/// The store's folder if nothing is said.
pub const DIR: &str = ".hodo-server";

/// Runs the verb on the store in `dir`.
pub fn run(args: &ServeArgs, dir: &Path) -> Outcome {
    match &args.verb {
        Some(ServeVerb::Token(verb)) => token::run(verb, dir),
        None => serve(args, dir),
    }
}

fn serve(args: &ServeArgs, dir: &Path) -> Outcome {
    let options = options(args, dir)?;
    let collector = Collector::bind(&options).map_err(|error| match error {
        CollectorError::Exposed(words) => Failure::Usage(words),
        other => Failure::Failed(format!("{other}{}", todo(&other))),
    })?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", collector.url())?;
    for (kind, text) in first_tokens(collector.tokens())? {
        writeln!(out, "{} token: {text}", kind.word())?;
    }
    out.flush()?;
    drop(out);
    output::note(&format!("runs go to {}; Ctrl-C ends it.", dir.display()));
    let failed = |error| Failure::Failed(format!("the collector stopped: {error}"));
    collector.run_until_interrupted().map_err(failed)?;
    Ok(0)
}

/// What to do about an address that another program has.
fn todo(error: &CollectorError) -> &'static str {
    match error {
        CollectorError::Io(_, error) if error.kind() == std::io::ErrorKind::AddrInUse => {
            "; --bind ADDR:PORT names another, with port 0 any that is free"
        }
        _ => "",
    }
}

/// One token of each kind, where there is none at all; told now and never again.
fn first_tokens(tokens: &Tokens) -> Result<Vec<(TokenKind, String)>, Failure> {
    let failed = |error| Failure::Failed(format!("cannot make tokens: {error}"));
    if !tokens.all().map_err(failed)?.is_empty() {
        return Ok(Vec::new());
    }
    let made = TokenKind::ALL
        .map(|kind| tokens.add(kind.word(), kind, TokenLimits::default()).map(|text| (kind, text)));
    let made: Result<Vec<_>, _> = made.into_iter().collect();
    output::note("These tokens are shown this once; `hodo serve token add` makes others.");
    made.map_err(failed)
}

fn options(args: &ServeArgs, dir: &Path) -> Result<CollectorOptions, Failure> {
    Ok(CollectorOptions {
        dir: dir.to_owned(),
        bind: args.bind,
        tls: args.tls_cert.clone().zip(args.tls_key.clone()),
        behind_proxy: args.behind_proxy,
        hosts: args.host.clone(),
        max_bytes: args.max_bytes.as_deref().map(bytes).transpose()?,
        rate: args.rate,
        keep: args.keep.map(days).transpose()?,
        quiet_after: time(&args.quiet_after)?,
        store: args.store.clone(),
    })
}

/// A time as people write it.
fn time(text: &str) -> Result<Duration, Failure> {
    let ns = hodo_trace::parse_duration_ns(text).filter(|ns| ns.is_finite() && *ns > 0.0);
    ns.map(|ns| Duration::from_nanos(ns as u64))
        .ok_or_else(|| Failure::Usage(format!("`{text}` is no time; write 10min or 90s")))
}

fn days(days: f64) -> Result<Duration, Failure> {
    let wrong = || Failure::Usage(format!("`{days}` is no number of days to keep runs"));
    Duration::try_from_secs_f64(days * 86_400.0).ok().filter(|d| !d.is_zero()).ok_or_else(wrong)
}

/// A number of bytes as people write it.
fn bytes(text: &str) -> Result<u64, Failure> {
    hodo_machine::parse_bytes(text).filter(|bytes| *bytes > 0).ok_or_else(|| {
        Failure::Usage(format!("`{text}` is no number of bytes; write 500GiB or 20000000"))
    })
}

//! `hodo serve token`.

use crate::args::TokenVerb;
use crate::output::{self, Failure, Outcome};
use hodo_server::{TokenLimits, Tokens};
use serde_json::json;
use std::io::Write;
use std::path::Path;

/// Runs the verb.
pub fn run(verb: &TokenVerb, dir: &Path) -> Outcome {
    let failed = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::InvalidInput => Failure::Usage(error.to_string()),
        _ => Failure::Failed(format!("cannot use the tokens in {}: {error}", dir.display())),
    };
    let tokens = Tokens::new(dir);
    match verb {
        TokenVerb::Add(args) => {
            let max_bytes = args.max_bytes.as_deref().map(super::bytes).transpose()?;
            let limits = TokenLimits { max_bytes, rate: args.rate };
            let text = tokens.add(&args.name, args.kind.into(), limits).map_err(failed)?;
            print(&text, dir)?;
        }
        TokenVerb::List { json } => list(&tokens, *json, failed)?,
        TokenVerb::Rotate { name } => {
            print(&tokens.rotate(name).map_err(failed)?.ok_or_else(|| unknown(name))?, dir)?;
        }
        TokenVerb::Remove { name } => {
            if !tokens.remove(name).map_err(failed)? {
                return Err(unknown(name));
            }
            output::note(&format!("{name} is worth nothing any more; the runs it sent stay."));
        }
    }
    Ok(0)
}

fn print(text: &str, dir: &Path) -> std::io::Result<()> {
    writeln!(std::io::stdout(), "{text}")?;
    output::note(&format!(
        "It is for the store in {}, and shown this once: only its hash is kept.",
        dir.display()
    ));
    Ok(())
}

fn unknown(name: &str) -> Failure {
    Failure::Failed(format!("no token `{name}`; `hodo serve token list` has them"))
}

fn list(
    tokens: &Tokens,
    as_json: bool,
    failed: impl Fn(std::io::Error) -> Failure,
) -> Result<(), Failure> {
    let all = tokens.all().map_err(failed)?;
    if as_json {
        let rows: Vec<_> = all
            .iter()
            .map(|token| {
                json!({
                    "name": token.name, "kind": token.kind, "id": token.id, "made_s": token.made_s,
                    "max_bytes": token.max_bytes, "rate": token.rate,
                })
            })
            .collect();
        output::json(&json!({"schema": "hodo.tokens/1", "tokens": rows}))?;
        return Ok(());
    }
    let mut out = std::io::stdout().lock();
    let width = all.iter().map(|token| token.name.len()).max().unwrap_or(0);
    for token in all.iter() {
        let most =
            token.max_bytes.map(|bytes| format!("  {} at most", crate::term::number::bytes(bytes)));
        let rate = token.rate.map(|rate| format!("  {rate} requests/s"));
        let limits = [most, rate].into_iter().flatten().collect::<String>();
        writeln!(out, "{:width$}  {:6}{limits}", token.name, token.kind.word())?;
    }
    Ok(())
}

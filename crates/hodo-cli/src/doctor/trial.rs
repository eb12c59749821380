//! A recording made here and now: the recorder itself says what it found.

use super::Check;
use crate::term::{number, text};
use hodo::{Config, Health, Started};
use std::path::Path;

/// Records a few scopes in a folder inside `place`, asks for the recorder's health, removes the folder.
pub fn record(place: &Path) -> Result<Health, String> {
    const SCOPES: u32 = 1000;
    let dir = place.join(format!(".hodo-doctor-{}", std::process::id()));
    let config = Config {
        app: Some("doctor".into()),
        dir: Some(dir.clone()),
        run: None,
        enabled: true,
        share_run: false,
        ..Config::from_env()
    };
    let recording = hodo::init(config);
    let started = match recording.started() {
        Started::On | Started::Degraded(_) => Ok(()),
        Started::Off(why) => Err(why.clone()),
        Started::Already => Err("another recorder is on in this process".to_owned()),
    };
    for _ in 0..SCOPES {
        let _scope = hodo::scope!("trial");
    }
    let health = hodo::health();
    drop(recording);
    // The folder is ours alone; what cannot be removed is a hidden folder of a few kilobytes.
    let _ = std::fs::remove_dir_all(&dir);
    started.map(|()| health)
}

/// Whether the trial was kept as it should be.
pub fn check(trial: &Result<Health, String>) -> Check {
    const NAME: &str = "recording";
    let off = !Config::from_env().enabled;
    match trial {
        Err(_) if off => {
            let told = std::env::var("HODO").unwrap_or_default();
            let found = format!("not tried: HODO={} switches it off", text::safe(&told));
            Check::warn(NAME, found, "unset HODO")
        }
        Err(why) => {
            Check::bad(NAME, format!("a trial did not start: {why}"), "see the lines below")
        }
        Ok(h) if !h.degraded.is_empty() => Check::warn(
            NAME,
            format!("a trial ran, but {}", h.degraded),
            "recording goes on in memory; see the lines below",
        ),
        Ok(h) if !h.crash_safe => Check::warn(
            NAME,
            "a trial ran, but a killed process would lose its last records",
            "see the folder below",
        ),
        Ok(h) => {
            let cost = number::duration(h.scope_cost_ns as f64);
            Check::ok(
                NAME,
                format!(
                    "a trial ran; a scope costs about {cost}, and a kill loses none that closed"
                ),
            )
        }
    }
}

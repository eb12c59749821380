//! `/metrics`: what a collector counts, as Prometheus reads it.

use super::refusal::Refusal;
use super::silence::is_live;
use super::{Collecting, Inside, ingest};
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use hodo_format::ship::SHIPPED_FILE;
use std::fmt::Write;
use std::path::Path;
use std::sync::atomic::Ordering;

/// The version of the text.
const KIND: &str = "text/plain; version=0.0.4; charset=utf-8";

/// `GET /metrics`.
pub async fn metrics(State(collecting): State<Collecting>) -> Result<impl IntoResponse, Refusal> {
    let text = ingest::apart(move || Ok(text(&collecting))).await?;
    Ok(([(CONTENT_TYPE, KIND)], text))
}

fn text(collecting: &Collecting) -> String {
    let counters = &collecting.counters;
    let mut out = Text::default();
    out.head("hodo_requests_total", "counter", "Requests by the status of the answer.");
    for (status, count) in counters.answers() {
        out.line(&format!("hodo_requests_total{{status=\"{status}\"}}"), count);
    }
    let load = |count: &std::sync::atomic::AtomicU64| count.load(Ordering::Relaxed);
    out.counter(
        "hodo_ingested_bytes_total",
        "Bytes of runs that were taken.",
        counters.stored_bytes(),
    );
    out.counter("hodo_otlp_spans_total", "Spans that came by OTLP.", load(&counters.otlp_spans));
    out.counter(
        "hodo_otlp_refused_spans_total",
        "Spans that came by OTLP and were refused, since their run is full.",
        load(&counters.otlp_refused),
    );
    out.gauge(
        "hodo_otlp_left_out_spans",
        "Spans that came by OTLP and are in no run.",
        collecting.logs.left_out(),
    );
    out.counter("hodo_packed_runs_total", "Runs that were packed.", load(&counters.packed));
    out.counter(
        "hodo_pack_failures_total",
        "Runs that could not be packed; they stay as they were shipped.",
        load(&counters.pack_failures),
    );
    out.gauge(
        "hodo_unpackable_runs",
        "Runs that are as they were shipped, since they could not be packed.",
        load(&counters.not_packed),
    );
    out.counter("hodo_removed_runs_total", "Runs that made room.", load(&counters.removed));
    out.counter("hodo_removed_bytes_total", "Bytes they took.", load(&counters.removed_bytes));
    let folders = collecting.shared.store.folders();
    let live = folders.iter().filter(|folder| is_shipped_live(collecting, folder)).count();
    out.gauge("hodo_runs", "Runs in the store.", folders.len() as u64);
    out.gauge("hodo_live_runs", "Runs of which a process is running.", live as u64);
    out.gauge("hodo_store_bytes", "Bytes that runs take.", collecting.depot.usage.total());
    if let Some(bytes) = free_bytes(collecting.depot.dir()) {
        out.gauge("hodo_disk_free_bytes", "Bytes that are free on the store's disk.", bytes);
    }
    out.0
}

/// Whether shippers tell of a process that runs; others' runs have no shipper.
fn is_shipped_live(inside: &Inside, folder: &Path) -> bool {
    let run = folder.file_name().unwrap_or_default().to_string_lossy();
    folder.join(SHIPPED_FILE).exists() && is_live(inside, &run)
}

/// Bytes that a file in `folder` may still take; none where the system does not say.
pub fn free_bytes(folder: &Path) -> Option<u64> {
    use std::os::unix::ffi::OsStrExt;
    let path = std::ffi::CString::new(folder.as_os_str().as_bytes()).ok()?;
    // SAFETY: a zeroed statvfs is valid, and the path ends with a zero.
    let (result, told) = unsafe {
        let mut told: libc::statvfs = std::mem::zeroed();
        (libc::statvfs(path.as_ptr(), &mut told), told)
    };
    (result == 0).then(|| told.f_bavail.saturating_mul(told.f_frsize))
}

/// Lines as Prometheus reads them.
#[derive(Default)]
struct Text(String);

impl Text {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a string does not fail.
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn line(&mut self, name: &str, value: u64) {
        let _ = writeln!(self.0, "{name} {value}");
    }

    fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.head(name, "counter", help);
        self.line(name, value);
    }

    fn gauge(&mut self, name: &str, help: &str, value: u64) {
        self.head(name, "gauge", help);
        self.line(name, value);
    }
}

//! OpenTelemetry SDK: batch processor with a queue that takes a whole burst, exporter that counts.

use crate::measure::Row;
use opentelemetry::trace::{Span, Tracer, TracerProvider};
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{
    BatchConfigBuilder, BatchSpanProcessor, SdkTracer, SdkTracerProvider, SpanData, SpanExporter,
};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

static KEPT: AtomicU64 = AtomicU64::new(0);
static TRACER: OnceLock<SdkTracer> = OnceLock::new();

#[derive(Debug)]
struct Count;

impl SpanExporter for Count {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        KEPT.fetch_add(batch.len() as u64, Ordering::Relaxed);
        Ok(())
    }
}

/// Sets up a provider and a tracer.
pub fn row() -> Row {
    let config = BatchConfigBuilder::default()
        .with_max_queue_size(1 << 17)
        .with_max_export_batch_size(8192)
        .build();
    let processor = BatchSpanProcessor::builder(Count).with_batch_config(config).build();
    let provider = SdkTracerProvider::builder().with_span_processor(processor).build();
    TRACER.get_or_init(|| provider.tracer("bench"));
    Row::drained("opentelemetry SDK, batch", "SpanData", burst, move |cycles| {
        let flushed = provider.force_flush();
        let kept = KEPT.swap(0, Ordering::Relaxed);
        if flushed.is_ok() { cycles.saturating_sub(kept) } else { cycles }
    })
}

#[inline(never)]
fn burst(cycles: u64) {
    let Some(tracer) = TRACER.get() else { return };
    for _ in 0..cycles {
        tracer.start("x").end();
    }
}

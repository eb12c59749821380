//! The spans of the `tracing` crate as scopes, its events as marks.

mod current;
mod fields;

use crate::backend::{self, Handle, Link};
use current::Current;
use fields::{Attributes, Marks};
use std::cell::RefCell;
use tracing_core::span;
use tracing_core::{Event, Metadata, Subscriber};
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::{LookupSpan, SpanRef};

/// A layer that records the spans and events of `tracing`.
///
/// A span is one scope however often it is entered, from its creation until its last handle is
/// dropped; its parent is the one `tracing` gives it, or for a contextual span the innermost
/// scope, so spans and hodo's own scopes nest in each other. Fields become attributes.
///
/// Each field of an event becomes a mark of its name, the message one named by the level: the event
/// `info!(loss = 0.5, "step done")` makes the marks `loss` = 0.5 and `info` = "step done".
///
/// ```
/// use tracing_subscriber::layer::SubscriberExt;
///
/// let subscriber = tracing_subscriber::registry().with(hodo::tracing::Layer::new());
/// tracing::subscriber::with_default(subscriber, || {
///     let span = tracing::info_span!("step", index = 3, variant = "beam");
///     let _entered = span.enter();
///     tracing::info!(loss = 0.5, "step done");
/// });
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Layer {
    _private: (),
}

impl Layer {
    /// A layer that records every span and event it is shown; choose with a filter of
    /// `tracing_subscriber`.
    pub fn new() -> Self {
        Self::default()
    }
}

thread_local! {
    static CURRENT: RefCell<Current> = const { RefCell::new(Current::new()) };
}

impl<S> tracing_subscriber::Layer<S> for Layer
where
    S: Subscriber + for<'lookup> LookupSpan<'lookup>,
{
    fn on_new_span(&self, attributes: &span::Attributes<'_>, id: &span::Id, ctx: Context<'_, S>) {
        let (true, Some(span)) = (backend::is_on(), ctx.span(id)) else { return };
        let parent = explicit_parent(attributes.is_root(), attributes.parent(), &ctx);
        let handle = begin(attributes.metadata(), parent);
        attributes.record(&mut Attributes(&handle));
        span.extensions_mut().insert(handle);
    }

    fn on_record(&self, id: &span::Id, values: &span::Record<'_>, ctx: Context<'_, S>) {
        with_handle(ctx.span(id), |handle| values.record(&mut Attributes(handle)));
    }

    fn on_event(&self, event: &Event<'_>, ctx: Context<'_, S>) {
        if !backend::is_on() {
            return;
        }
        let parent = explicit_parent(event.is_root(), event.parent(), &ctx);
        let _attached = parent.map(|link| link.attach());
        event.record(&mut Marks { level: *event.metadata().level() });
    }

    fn on_enter(&self, id: &span::Id, ctx: Context<'_, S>) {
        with_handle(ctx.span(id), |handle| {
            let enter = |current: &RefCell<Current>| {
                current.borrow_mut().enter(id.into_u64(), handle.link());
            };
            let _ = CURRENT.try_with(enter);
        });
    }

    fn on_exit(&self, id: &span::Id, _ctx: Context<'_, S>) {
        // A span may be exited while its thread's storage is being taken down.
        let _ = CURRENT.try_with(|current| current.borrow_mut().exit(id.into_u64()));
    }

    fn on_close(&self, id: span::Id, ctx: Context<'_, S>) {
        if let Some(span) = ctx.span(&id) {
            span.extensions_mut().remove::<Handle>();
        }
    }
}

fn begin(metadata: &Metadata<'_>, parent: Option<Link>) -> Handle {
    let _attached = parent.map(|link| link.attach());
    backend::begin(backend::intern(metadata.name()), 0, None)
}

/// What the user set as the parent; `None` leaves it to what is current.
fn explicit_parent<S>(
    is_root: bool,
    parent: Option<&span::Id>,
    ctx: &Context<'_, S>,
) -> Option<Link>
where
    S: Subscriber + for<'lookup> LookupSpan<'lookup>,
{
    if is_root {
        return Some(Link::NONE);
    }
    let span = ctx.span(parent?)?;
    let extensions = span.extensions();
    extensions.get::<Handle>().map(Handle::link)
}

fn with_handle<'a, R>(span: Option<SpanRef<'a, R>>, work: impl FnOnce(&Handle))
where
    R: LookupSpan<'a>,
{
    if let Some(span) = span
        && let Some(handle) = span.extensions().get::<Handle>()
    {
        work(handle);
    }
}

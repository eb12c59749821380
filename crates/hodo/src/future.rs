//! Futures that carry their own scopes.

use crate::Handle;
use crate::backend::{self, Context};
use crate::handle::fail_with;
use hodo_record::Value;
use pin_project_lite::pin_project;
use std::fmt::Display;
use std::pin::Pin;
use std::task::{Poll, ready};

/// Scopes around futures.
pub trait FutureExt: Future + Sized {
    /// Records the future as a scope, from its first poll until it is ready or dropped.
    ///
    /// Its parent is the scope current where `scoped` is called, also when the future runs on
    /// other threads. Scopes opened while it is polled are its children; those of other tasks
    /// never are. It has no CPU time, as it may be suspended. A future dropped before it is ready
    /// gets the attribute `cancelled`, one that panics is marked as failed.
    ///
    /// ```
    /// use hodo::FutureExt;
    ///
    /// async fn fetch(shard: u32) -> u32 {
    ///     shard * 2
    /// }
    ///
    /// # tokio::runtime::Builder::new_multi_thread().build().unwrap().block_on(async {
    /// let step = async {
    ///     let task = tokio::spawn(fetch(21).scoped("fetch")); // a child of `step`
    ///     task.await.unwrap()
    /// };
    /// assert_eq!(step.scoped("step").await, 42);
    /// # });
    /// ```
    fn scoped(self, name: &str) -> Scoped<Self> {
        let state = if backend::is_on() {
            State::Waiting { name: backend::intern(name), parent: backend::Link::current() }
        } else {
            State::Done
        };
        Scoped { future: self, state, error_of: None }
    }

    /// Like [`scoped`](FutureExt::scoped) with a scope that has begun, so that it can have an index
    /// and attributes.
    ///
    /// ```
    /// use hodo::FutureExt;
    ///
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// async { 1 + 1 }.in_scope(hodo::begin!("add", index = 7, variant = "slow")).await;
    /// # });
    /// ```
    fn in_scope(self, scope: Handle) -> Scoped<Self> {
        in_scope(self, scope)
    }
}

impl<F: Future> FutureExt for F {}

pin_project! {
    /// A future recorded as a scope; made by [`FutureExt`].
    #[must_use = "futures do nothing unless polled"]
    pub struct Scoped<F: Future> {
        #[pin]
        future: F,
        state: State,
        error_of: Option<fn(&F::Output) -> Option<String>>,
    }

    impl<F: Future> PinnedDrop for Scoped<F> {
        fn drop(this: Pin<&mut Self>) {
            this.project().state.cancel();
        }
    }
}

enum State {
    /// Not polled yet.
    Waiting { name: u32, parent: backend::Link },
    /// Polled, not ready.
    Running(Context),
    /// Ready, or never recorded.
    Done,
}

impl State {
    fn of(scope: Handle) -> State {
        if scope.is_recorded() {
            State::Running(Context::new(scope.into_inner()))
        } else {
            State::Done
        }
    }

    /// The future's scopes; begins its own at the first poll.
    fn context(&mut self) -> Option<&mut Context> {
        if let State::Waiting { name, parent } = *self {
            let _parent = parent.attach();
            *self = State::Running(Context::new(backend::begin(name, 0, None)));
        }
        match self {
            State::Running(context) => Some(context),
            _ => None,
        }
    }

    fn cancel(&mut self) {
        if let State::Running(context) = self {
            context.handle().set(backend::intern("cancelled"), Value::Bool(true));
        }
    }
}

/// Marks the scope as failed when the poll it is made for panics. The runtime may catch the panic
/// before the future is dropped, so the drop cannot tell.
struct FailOnPanic<'a>(&'a mut State);

impl Drop for FailOnPanic<'_> {
    fn drop(&mut self) {
        if let State::Running(context) = self.0 {
            context.handle().fail();
        }
        *self.0 = State::Done;
    }
}

impl<F: Future> Future for Scoped<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let guard = FailOnPanic(&mut *this.state);
        let polled = {
            let _entered = guard.0.context().map(Context::enter);
            this.future.poll(cx)
        };
        std::mem::forget(guard);
        let output = ready!(polled);
        if let (State::Running(context), Some(error_of)) = (&*this.state, this.error_of) {
            error_of(&output).into_iter().for_each(|error| fail_with(context.handle(), &error));
        }
        *this.state = State::Done;
        Poll::Ready(output)
    }
}

/// What `#[hodo::scoped]` makes of an async fn.
#[doc(hidden)]
pub fn in_scope<F: Future>(future: F, scope: Handle) -> Scoped<F> {
    Scoped { future, state: State::of(scope), error_of: None }
}

/// What `#[hodo::scoped(err)]` makes of an async fn.
#[doc(hidden)]
pub fn in_fallible_scope<F, T, E>(future: F, scope: Handle) -> Scoped<F>
where
    F: Future<Output = Result<T, E>>,
    E: Display,
{
    let error_of = |output: &Result<T, E>| output.as_ref().err().map(E::to_string);
    Scoped { future, state: State::of(scope), error_of: Some(error_of) }
}

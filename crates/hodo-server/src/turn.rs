//! What a request holds while it is answered, also by work that goes on when whoever asked has hung up.

use std::any::Any;
use std::future::Future;
use std::sync::Arc;

/// Something that counts who is at work.
pub type Held = Arc<dyn Any + Send + Sync>;

tokio::task_local! {
    static HELD: Held;
}

/// Answers a request that holds something.
pub async fn holding<T>(held: Held, answer: impl Future<Output = T>) -> T {
    HELD.scope(held, answer).await
}

/// What the request that is being answered holds, for work on another thread to hold too.
pub fn held() -> Option<Held> {
    HELD.try_with(Arc::clone).ok()
}

//! A thread that works off what it is sent.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

/// A named thread with a queue; its scopes belong under the one that started it. Dropping it waits
/// until the queue is empty.
pub struct Worker<T> {
    queue: Option<Sender<T>>,
    thread: Option<JoinHandle<()>>,
}

impl<T: Send + 'static> Worker<T> {
    pub fn start(name: &str, work: impl FnOnce(Receiver<T>) + Send + 'static) -> Self {
        let (sender, receiver) = channel();
        let work = hodo::thread::inherit(move || work(receiver));
        let thread = std::thread::Builder::new().name(name.into()).spawn(work).ok();
        Worker { queue: Some(sender), thread }
    }

    pub fn send(&self, item: T) {
        if let Some(queue) = &self.queue {
            let _ = queue.send(item);
        }
    }
}

impl<T> Drop for Worker<T> {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

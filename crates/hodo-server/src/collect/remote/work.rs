//! What is done with the store by itself: on a thread of its own, which a store that is away keeps
//! waiting and nobody else.

use super::{know_all, upload_next};
use crate::collect::Inside;
use crate::collect::janitor::{tell, yield_to_others};
use std::io;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// Between two rounds.
const PAUSE: Duration = Duration::from_secs(1);
/// A start waits so long for the list of the store; what takes longer is shown when it is known.
const LIST_TIME: Duration = Duration::from_secs(10);

/// Begins to work, until the collector is gone. Runs that the store has are known then, if it answers.
pub fn begin(inside: &Arc<Inside>) -> io::Result<()> {
    let ((listed, is_listed), inside) = (channel(), Arc::downgrade(inside));
    std::thread::Builder::new().name("hodo-store".into()).spawn(move || work(&inside, &listed))?;
    // Who is late is told of by the thread.
    let _ = is_listed.recv_timeout(LIST_TIME);
    Ok(())
}

fn work(inside: &Weak<Inside>, listed: &Sender<()>) {
    yield_to_others();
    loop {
        {
            let Some(inside) = inside.upgrade() else { return };
            let Some(remote) = &inside.remote else { return };
            know_all(&inside, &**remote);
            // Nobody waits after the first time.
            let _ = listed.send(());
            match upload_next(&inside, &**remote) {
                Ok(stored) => stored.iter().for_each(|run| tell(&format!("stored {run}"))),
                Err(error) => tell(&format!("cannot store packed runs: {error}")),
            }
        }
        std::thread::sleep(PAUSE);
    }
}

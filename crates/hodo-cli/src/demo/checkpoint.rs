//! Saves every epoch's network. One save goes wrong, as they do.

use super::network::Network;
use super::worker::Worker;
use std::path::{Path, PathBuf};

/// The epoch whose checkpoint goes to a folder that is not there.
const FAILING_EPOCH: u64 = 1;

/// The thread that saves into `dir`, always over the same file, which is removed in the end.
pub fn start(dir: PathBuf) -> Worker<(u64, Network)> {
    Worker::start("checkpoint", move |queue| {
        let file = format!("demo-checkpoint-{}.bin", std::process::id());
        for (epoch, network) in queue {
            let missing = dir.join("no-such-folder");
            let folder = if epoch == FAILING_EPOCH { &missing } else { &dir };
            // The scope keeps the error; training goes on without this checkpoint.
            let _ = save(epoch, &network, &folder.join(&file));
        }
        let _ = std::fs::remove_file(dir.join(&file));
    })
}

#[hodo::scoped("checkpoint", index = epoch, err)]
fn save(epoch: u64, network: &Network, path: &Path) -> std::io::Result<()> {
    let bytes = {
        let _s = hodo::scope!("serialize", parameters = network.parameters());
        network.to_bytes()
    };
    let _s = hodo::scope!("write", bytes = bytes.len());
    std::fs::write(path, bytes)
}

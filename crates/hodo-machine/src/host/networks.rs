//! Network interfaces, but for the loopback and the host's ends of containers' links.

use super::{MASKED, Root};
use crate::procfile::ProcFile;
use crate::table::{Absent, Reader, Table};
use hodo_format::machine::{Source, metric, part};

/// Network interfaces of the host, or of the container that the sampler runs in.
#[derive(Debug)]
pub struct Networks {
    dev: ProcFile,
}

impl Networks {
    pub fn new(root: &Root) -> Networks {
        Networks { dev: root.proc_file("net/dev") }
    }
}

/// Name, bytes received and bytes sent of a line of `/proc/net/dev`.
fn line(line: &str) -> Option<(&str, u64, u64)> {
    // Names may hold a colon, numbers do not.
    let (name, numbers) = line.rsplit_once(':')?;
    let mut numbers = numbers.split_ascii_whitespace().map(str::parse);
    let received = numbers.next()?.ok()?;
    let sent = numbers.nth(7)?.ok()?;
    Some((name.trim(), received, sent))
}

/// Containers come and go, and with them a link each, whose bytes the host's interface has too.
fn is_shown(name: &str) -> bool {
    !name.is_empty() && name != "lo" && !name.starts_with("veth")
}

impl Reader for Networks {
    fn read(&mut self, table: &mut Table) {
        let Some(text) = self.dev.read() else { return };
        for (name, received, sent) in text.lines().filter_map(line) {
            if is_shown(name) {
                let source = || Source::Network(name.into());
                table.put(source(), &metric::NETWORK_RECEIVED, received as f64);
                table.put(source(), &metric::NETWORK_SENT, sent as f64);
            }
        }
    }

    fn absent(&self) -> Vec<Absent> {
        self.dev.absent(part::NETWORKS, MASKED).into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::tests::{Machine, values};

    const DEV: &str = "Inter-|   Receive                                                |  Transmit\n \
        face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs\n    \
        lo:  500 5 0 0 0 0 0 0  500 5 0 0 0 0 0 0\n  \
        eth0:18446744073709551615 5 0 0 0 0 0 0  700 5 0 0 0 0 0 0\neth0:1: 1 0 0 0 0 0 0 0 2 0\n\
        veth12ab: 9 0 0 0 0 0 0 0 9 0\nodd: 1 2 3\n";

    #[test]
    fn interfaces_but_for_the_loopback() {
        assert_eq!(line("  eth1: 7 1 0 0 0 0 0 0 9 1"), Some(("eth1", 7, 9)));
        let machine = Machine::new(&[("proc/net/dev", DEV)]);
        let read = values(&mut Networks::new(&machine.root()));
        let mut names: Vec<&str> = read.keys().map(String::as_str).collect();
        names.sort_unstable();
        assert_eq!(
            names,
            [
                "network:eth0 network.received",
                "network:eth0 network.sent",
                "network:eth0:1 network.received",
                "network:eth0:1 network.sent"
            ]
        );
        assert_eq!(read["network:eth0 network.sent"], 700.0);
    }
}

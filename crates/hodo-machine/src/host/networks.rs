//! Network interfaces, but for the loopback and the host's ends of links to containers and virtual
//! machines: they come and go with those, and the host's own interface has their bytes too.

use super::{MASKED, Root};
use crate::procfile::ProcFile;
use crate::table::{Absent, Reader, Table};
use hodo_format::machine::{Source, metric, part};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// Network interfaces of the host, or of the container that the sampler runs in.
#[derive(Debug)]
pub struct Networks {
    dev: ProcFile,
    routes: [PathBuf; 2],
    about: PathBuf,
    /// What interfaces are, looked at when they first appear.
    known: HashMap<String, Place>,
}

/// What an interface is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// It has a device, or a default route leads through it, as through a container's own end.
    Own,
    /// It has no peer: a bridge, a bond, a tunnel.
    Alone,
    /// The end of a link to elsewhere.
    End,
}

impl Networks {
    pub fn new(root: &Root) -> Networks {
        Networks {
            dev: root.proc_file("net/dev"),
            routes: [root.proc("net/route"), root.proc("net/ipv6_route")],
            about: root.sys("class/net"),
            known: HashMap::new(),
        }
    }
}

/// Interfaces of default routes.
fn ways_out([four, six]: &[PathBuf; 2]) -> HashSet<String> {
    let read = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
    let is_zero = |word: &str| word.bytes().all(|digit| digit == b'0');
    let by_four = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let name = words.next()?;
        is_zero(words.next()?).then(|| name.to_owned())
    };
    let by_six = |line: &str| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let (to, name) = (words.get(..2)?, *words.last()?);
        to.iter().all(|word| is_zero(word)).then(|| name.to_owned())
    };
    let mut names: HashSet<String> = read(four).lines().filter_map(by_four).collect();
    names.extend(read(six).lines().filter_map(by_six));
    names
}

/// What an interface is that no route leads out of. A VLAN or a bond has interfaces below it.
fn place(folder: &Path, name: &str) -> Place {
    let number = |file: &str| -> Option<u64> {
        std::fs::read_to_string(folder.join(file)).ok()?.trim().parse().ok()
    };
    let has_peer = match (number("iflink"), number("ifindex")) {
        (Some(peer), Some(own)) => peer != 0 && peer != own,
        _ => is_named_as_end(name),
    };
    let is_below =
        |entry: std::fs::DirEntry| entry.file_name().to_string_lossy().starts_with("lower_");
    let has_below = || std::fs::read_dir(folder).is_ok_and(|all| all.flatten().any(is_below));
    let has_bridge = || folder.join("master").exists();
    match () {
        () if folder.join("device").exists() => Place::Own,
        () if (has_peer || has_bridge()) && !has_below() => Place::End,
        () => Place::Alone,
    }
}

fn is_named_as_end(name: &str) -> bool {
    name.starts_with("veth")
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

/// Whether a line is of an interface at all, and not of the loopback.
fn is_real((name, ..): &(&str, u64, u64)) -> bool {
    !name.is_empty() && *name != "lo"
}

impl Networks {
    /// Looks at those of `names` that are new, and forgets those that are gone.
    fn learn(&mut self, names: &HashSet<String>) {
        self.known.retain(|name, _| names.contains(name));
        let new: Vec<&String> =
            names.iter().filter(|name| !self.known.contains_key(*name)).collect();
        if new.is_empty() {
            return;
        }
        let ways_out = ways_out(&self.routes);
        for name in new {
            let place = match ways_out.contains(name) {
                true => Place::Own,
                false => place(&self.about.join(name), name),
            };
            self.known.insert(name.clone(), place);
        }
    }

    /// The ones that are shown: a link's end is not where there is what its bytes go through.
    fn shown(&self) -> impl Fn(&str) -> bool + use<'_> {
        let has = |place: Place| self.known.values().any(|known| *known == place);
        let (has_own, has_alone) = (has(Place::Own), has(Place::Alone));
        move |name| match self.known.get(name) {
            Some(Place::End) => !(has_own || has_alone && is_named_as_end(name)),
            _ => true,
        }
    }
}

impl Reader for Networks {
    fn read(&mut self, table: &mut Table) {
        let Some(text) = self.dev.read() else { return };
        let found = text.lines().filter_map(line).filter(is_real);
        let found: Vec<(String, u64, u64)> =
            found.map(|(name, received, sent)| (name.to_owned(), received, sent)).collect();
        self.learn(&found.iter().map(|(name, ..)| name.clone()).collect());
        let is_shown = self.shown();
        for (name, received, sent) in found.iter().filter(|(name, ..)| is_shown(name)) {
            let source = || Source::Network(name.clone());
            table.put(source(), &metric::NETWORK_RECEIVED, *received as f64);
            table.put(source(), &metric::NETWORK_SENT, *sent as f64);
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

    /// `/proc/net/dev` with these interfaces.
    fn dev(names: &[&str]) -> String {
        names.iter().map(|name| format!("{name}: 1 0 0 0 0 0 0 0 2 0\n")).collect()
    }

    fn shown(networks: &mut Networks) -> Vec<String> {
        let read = values(networks);
        let received = read.keys().filter_map(|key| key.strip_suffix(" network.received"));
        let mut names: Vec<String> =
            received.map(|key| key.trim_start_matches("network:").to_owned()).collect();
        names.sort_unstable();
        names
    }

    const ROUTES: &str = "Iface\tDestination\tGateway\n\
        eth0\t00000000\t0101A8C0\ncali1\t0A01A8C0\t00000000\n";

    #[test]
    fn the_hosts_ends_of_containers_links_are_not_shown() {
        let names = ["lo", "eth0", "cali1", "lxc2", "tap3", "vlan4", "docker0", "wg0", "tunl0"];
        let machine = Machine::new(&[
            ("proc/net/dev", &dev(&names)),
            ("proc/net/route", ROUTES),
            ("sys/class/net/eth0/device/vendor", "0x15b3"),
            ("sys/class/net/eth0/master/ifindex", "7"),
            ("sys/class/net/vlan4/lower_eth0/ifindex", "2"),
            ("sys/class/net/tap3/master/ifindex", "7"),
        ]);
        let numbers = [("eth0", 2, 2), ("cali1", 3, 2), ("lxc2", 4, 2), ("tap3", 5, 5)];
        let more = [("vlan4", 6, 2), ("docker0", 7, 7), ("wg0", 8, 8), ("tunl0", 9, 0)];
        for (name, index, link) in numbers.into_iter().chain(more) {
            machine.write(&format!("sys/class/net/{name}/ifindex"), &format!("{index}\n"));
            machine.write(&format!("sys/class/net/{name}/iflink"), &format!("{link}\n"));
        }
        let mut networks = Networks::new(&machine.root());
        assert_eq!(shown(&mut networks), ["docker0", "eth0", "tunl0", "vlan4", "wg0"]);
        // Thousands come and go, and nothing of them stays.
        for number in 0..2000 {
            let link = format!("cali{number}");
            machine.write("proc/net/dev", &dev(&["eth0", &link]));
            machine.write(&format!("sys/class/net/{link}/ifindex"), &number.to_string());
            machine.write(&format!("sys/class/net/{link}/iflink"), "4000");
            assert_eq!(shown(&mut networks), ["eth0"]);
            machine.remove(&format!("sys/class/net/{link}"));
        }
        assert_eq!(networks.known.len(), 2);
    }

    #[test]
    fn a_containers_own_end_is_shown() {
        let machine = Machine::new(&[
            ("proc/net/dev", &dev(&["lo", "eth0", "net1"])),
            ("proc/net/route", ROUTES),
            ("sys/class/net/eth0/ifindex", "3"),
            ("sys/class/net/eth0/iflink", "912"),
            ("sys/class/net/net1/ifindex", "4"),
            ("sys/class/net/net1/iflink", "4"),
        ]);
        assert_eq!(shown(&mut Networks::new(&machine.root())), ["eth0", "net1"]);
        machine.remove("proc/net/route");
        let both = ["eth0", "net1"];
        assert_eq!(shown(&mut Networks::new(&machine.root())), both, "no route leads out");
        machine.write("proc/net/dev", &dev(&["lo", "eth0", "net1", "vethab"]));
        assert_eq!(shown(&mut Networks::new(&machine.root())), both, "containers inside");
        let zeros = "0".repeat(32);
        let six =
            format!("{zeros} 00 {zeros} 00 {zeros} 00000400 00000001 00000000 00000003 eth0\n");
        machine.write("proc/net/ipv6_route", &six);
        machine.write("proc/net/dev", &dev(&["lo", "eth0", "lxcab"]));
        machine.write("sys/class/net/lxcab/ifindex", "5");
        machine.write("sys/class/net/lxcab/iflink", "2");
        assert_eq!(shown(&mut Networks::new(&machine.root())), ["eth0"]);
    }
}

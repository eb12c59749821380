//! Where a series is read.

use std::fmt;

/// Where a series is read. Written as one word: `host`, `core:3`, `gpu:GPU-…`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Source {
    /// The machine as a whole.
    Host,
    /// One processor of it, as the system numbers them.
    Core(u32),
    /// A disk, by its name in the system.
    Disk(String),
    /// A network interface.
    Network(String),
    /// A GPU, by its UUID.
    Gpu(String),
    /// A process on a GPU.
    GpuProcess(String, u32),
    /// The processes of the run on this host and their children, together.
    Processes,
    /// The sampler itself.
    Sampler,
    /// One that this version does not know.
    Other(String),
}

impl Source {
    /// The source that `text` names.
    pub fn parse(text: &str) -> Source {
        let known = match text.split_once(':') {
            None if text == "host" => Some(Source::Host),
            None if text == "processes" => Some(Source::Processes),
            None if text == "sampler" => Some(Source::Sampler),
            Some(("core", number)) => number.parse().ok().map(Source::Core),
            Some(("disk", name)) => Some(Source::Disk(name.into())),
            Some(("network", name)) => Some(Source::Network(name.into())),
            Some(("gpu", rest)) => gpu(rest),
            _ => None,
        };
        known.unwrap_or_else(|| Source::Other(text.into()))
    }

    /// Whether a machine that runs for months sees ever new ones of its kind.
    pub fn comes_and_goes(&self) -> bool {
        matches!(self, Source::GpuProcess(..) | Source::Network(_) | Source::Disk(_))
    }

    /// The GPU it is, or is on.
    pub fn gpu(&self) -> Option<&str> {
        match self {
            Source::Gpu(uuid) | Source::GpuProcess(uuid, _) => Some(uuid),
            _ => None,
        }
    }
}

fn gpu(text: &str) -> Option<Source> {
    let Some((uuid, process)) = text.split_once('/') else {
        return Some(Source::Gpu(text.into()));
    };
    let pid = process.strip_prefix("process:")?.parse().ok()?;
    Some(Source::GpuProcess(uuid.into(), pid))
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Host => f.write_str("host"),
            Source::Core(number) => write!(f, "core:{number}"),
            Source::Disk(name) => write!(f, "disk:{name}"),
            Source::Network(name) => write!(f, "network:{name}"),
            Source::Gpu(uuid) => write!(f, "gpu:{uuid}"),
            Source::GpuProcess(uuid, pid) => write!(f, "gpu:{uuid}/process:{pid}"),
            Source::Processes => f.write_str("processes"),
            Source::Sampler => f.write_str("sampler"),
            Source::Other(text) => f.write_str(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_is_read_as_it_is_written() {
        let gpu = || "GPU-7f2a".to_string();
        let sources = [
            Source::Host,
            Source::Core(12),
            Source::Disk("nvme0n1".into()),
            Source::Network("eth0".into()),
            Source::Gpu(gpu()),
            Source::GpuProcess(gpu(), 77),
            Source::Processes,
            Source::Sampler,
            Source::Other("dpu:3".into()),
        ];
        for source in sources {
            assert_eq!(Source::parse(&source.to_string()), source);
        }
        assert_eq!(Source::parse("core:many"), Source::Other("core:many".into()));
    }
}

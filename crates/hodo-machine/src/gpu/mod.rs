//! GPUs, by NVML: opened at run time, never linked, and nothing here initialises CUDA.
//!
//! NVML's calls take a lock in the kernel that launches take too, so what is dear is read seldom:
//! [`Gpus::quick`] at the sampler's rate, [`Gpus::performance`] ten times a second at most,
//! [`Gpus::steady`] once a second, [`Gpus::slow`] every few.

mod device;
mod performance;
mod quick;
mod slow;
mod steady;
mod visible;
mod xid;

pub use visible::Visible;

use crate::{Absent, Reader};
use device::Gpu;
use hodo_format::machine::part;
use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError;
use std::ffi::{OsStr, OsString};
use visible::Chosen;

/// Names another library than the system's, for tests.
const LIBRARY: &str = "HODO_NVML";
const SYSTEM_LIBRARY: &str = "libnvidia-ml.so.1";

/// The GPUs to be read.
#[derive(Debug)]
pub struct Gpus {
    nvml: &'static Nvml,
    cards: Vec<Card>,
    driver: String,
    notes: Vec<Absent>,
}

/// A GPU as it does not change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Card {
    /// Its UUID, by which everything about it is found.
    pub uuid: String,
    /// NVML's number of it.
    pub index: u32,
    /// Its name.
    pub name: String,
}

impl Gpus {
    /// Opens NVML and finds the GPUs of `visible`. It may take long, as the driver wakes up.
    pub fn open(visible: &Visible) -> Result<Gpus, Absent> {
        let library = std::env::var_os(LIBRARY).unwrap_or_else(|| OsString::from(SYSTEM_LIBRARY));
        Gpus::open_library(&library, visible)
    }

    /// The same by a library of another name.
    pub fn open_library(library: &OsStr, visible: &Visible) -> Result<Gpus, Absent> {
        let nvml = Nvml::builder().lib_path(library).init().map_err(|error| absent(&error))?;
        // Readers hold it for the life of the process: to close it while a call hangs is worse.
        let nvml: &'static Nvml = Box::leak(Box::new(nvml));
        let all = cards(nvml).map_err(|error| absent(&error))?;
        if all.is_empty() {
            return Err(told("NVML shows no GPU", "in a container, ask for GPUs (--gpus all)"));
        }
        let parent =
            |word: &str| nvml.device_by_uuid(word).ok()?.mig_parent_device().ok()?.uuid().ok();
        let Chosen { cards, notes } = visible.choose(all, &parent);
        if cards.is_empty() {
            return Err(told(
                "CUDA_VISIBLE_DEVICES leaves no GPU",
                "unset it, or name a GPU in it",
            ));
        }
        let driver = nvml.sys_driver_version().unwrap_or_default();
        Ok(Gpus { nvml, cards, driver, notes })
    }

    /// The GPUs, in NVML's order.
    pub fn cards(&self) -> &[Card] {
        &self.cards
    }

    /// What is not known of the choice of GPUs.
    pub fn notes(&self) -> &[Absent] {
        &self.notes
    }

    /// Version of the driver; empty when it does not tell.
    pub fn driver(&self) -> &str {
        &self.driver
    }

    /// Utilisation, memory, power and clocks: some ten microseconds each.
    pub fn quick(&self) -> Box<dyn Reader> {
        Box::new(quick::Quick::new(self.devices()))
    }

    /// What the SMs, the tensor cores and the memory did, where the GPU tells; not more often than
    /// every 100 ms.
    pub fn performance(&self) -> Box<dyn Reader> {
        Box::new(performance::Performance::new(self.nvml, self.devices()))
    }

    /// Energy, temperatures, limits, why clocks are held down.
    pub fn steady(&self) -> Box<dyn Reader> {
        Box::new(steady::Steady::new(self.devices()))
    }

    /// What takes milliseconds: processes, PCIe, NVLink, errors, fans.
    pub fn slow(&self) -> Box<dyn Reader> {
        Box::new(slow::Slow::new(self.nvml, self.devices()))
    }

    fn devices(&self) -> Vec<Gpu> {
        self.cards.iter().filter_map(|card| Gpu::open(self.nvml, &card.uuid)).collect()
    }
}

fn cards(nvml: &Nvml) -> Result<Vec<Card>, NvmlError> {
    let card = |index: u32| {
        // One that has fallen off the bus does not hide the others.
        let device = nvml.device_by_index(index).ok()?;
        let name = device.name().unwrap_or_default();
        Some(Card { uuid: device.uuid().ok()?, index, name })
    };
    Ok((0..nvml.device_count()?).filter_map(card).collect())
}

fn told(why: &str, fix: &str) -> Absent {
    Absent { part: part::GPU.into(), why: why.into(), fix: fix.into() }
}

fn absent(error: &NvmlError) -> Absent {
    match error {
        NvmlError::LibloadingError(_) => told(
            "libnvidia-ml.so.1 was not found: this machine has no NVIDIA driver, or the container does not see it",
            "install the driver; in a container use the NVIDIA container runtime",
        ),
        NvmlError::DriverNotLoaded => told(
            "the NVIDIA driver is not loaded",
            "load it (modprobe nvidia), or run nvidia-smi to see why not",
        ),
        NvmlError::NoPermission => told(
            "NVML has no permission to use the driver",
            "give access to /dev/nvidiactl and /dev/nvidia*",
        ),
        NvmlError::LibRmVersionMismatch => told(
            "libnvidia-ml.so.1 and the kernel's driver are of different versions",
            "reboot, or reload the driver, after its update",
        ),
        other => told(&format!("NVML does not start: {other}"), "see whether nvidia-smi works"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_a_driver_is_told_so() {
        if std::env::var_os(LIBRARY).is_none() && !std::path::Path::new("/dev/nvidiactl").exists() {
            let absent = Gpus::open(&Visible::All).expect_err("there is no driver");
            assert!(absent.why.contains("libnvidia-ml.so.1 was not found"), "{absent:?}");
            assert!(!absent.fix.is_empty());
        }
    }
}

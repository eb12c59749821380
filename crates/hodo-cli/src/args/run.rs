//! The command line of `hodo run`.

use crate::run::hooks;
use clap::{Args, ValueEnum};
use std::ffi::OsString;

/// What the help of `hodo run` shows.
pub const RUN_EXAMPLES: &str = "\
Examples:
  hodo run -- python train.py
  hodo run --name sweep --gpu off -- ./train --lr 0.1
  hodo run --hooks -- python train.py                  and the epochs, steps and passes of its framework
  hodo run --monitor -- python train.py                and the machine, every second
  hodo run --open -- python train.py                   and look at it meanwhile, in the browser
  hodo run -- torchrun --nproc-per-node 8 train.py     all ranks in one run";

/// `hodo run`.
#[derive(Args, Debug)]
pub struct RunArgs {
    /// What is recorded of the GPU: auto takes what works and is silent where nothing does, trace warns.
    #[arg(long, value_enum, value_name = "WHAT", env = "HODO_GPU", hide_env_values = true, default_value_t = Gpu::Auto)]
    pub gpu: Gpu,

    /// Name of the program in reports; the script's or the program's own if left out.
    #[arg(long, value_name = "APP")]
    pub name: Option<String>,

    /// Also read the machine into the run while the program runs: every second, or so often as --monitor=100ms says.
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true, default_missing_value = "1s")]
    pub monitor: Option<String>,

    /// Give a Python program the scopes of its frameworks, with no change to it: epochs, steps, data_wait, forward, backward, optimizer. All frameworks (torch, transformers, lightning, keras, jax, sklearn), or as --hooks=torch,lightning says; layers=2 among them gives layers scopes of their own, memory the bytes of torch's allocator, collectives the scopes of what DDP reduces.
    #[arg(long, value_name = "NAMES", num_args = 0..=1, require_equals = true, default_missing_value = "all", value_parser = hooks::asked)]
    pub hooks: Option<String>,

    /// Show the run in the browser while the program runs; the page stays until Ctrl-C, and then the program's exit code is returned.
    #[arg(long)]
    pub open: bool,

    /// Say nothing of your own; the program is as loud as it is.
    #[arg(short, long)]
    pub quiet: bool,

    /// The program and its arguments. Its exit code is returned, and a signal that ends it ends hodo too; 127 when it is not found, 126 when it cannot be run, 125 when hodo cannot record it.
    #[arg(value_name = "CMD", required = true, trailing_var_arg = true)]
    pub command: Vec<OsString>,
}

/// What `hodo run` records of the GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Gpu {
    /// What works on this machine.
    Auto,
    /// Kernels and copies.
    Trace,
    /// Kernels and copies, and in windows the program opens, why kernels stall.
    PcSampling,
    /// Readings of the machine, no kernels.
    Monitor,
    /// Nothing.
    Off,
}

impl Gpu {
    /// Its word, on the command line and in `HODO_GPU`.
    pub fn word(self) -> &'static str {
        match self {
            Gpu::Auto => "auto",
            Gpu::Trace => "trace",
            Gpu::PcSampling => "pc-sampling",
            Gpu::Monitor => "monitor",
            Gpu::Off => "off",
        }
    }
}

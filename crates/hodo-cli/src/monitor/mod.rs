//! `hodo monitor`: reads this machine into a run, beside whatever runs on it.

mod background;
mod pidfile;
pub mod prometheus;
mod target;
mod told;

use crate::args::MonitorArgs;
use crate::output::{Failure, Outcome};
use crate::ship::beside::{Beside, WAIT};
use crate::signals::Signals;
use crate::term::number;
use background::Background;
use hodo_machine::gpu::Visible;
use hodo_machine::{Kind, Limits, MIN_INTERVAL, Parts, Roots, Sampling, Settings};
use pidfile::PidFile;
use prometheus::Endpoint;
use std::path::Path;
use std::time::{Duration, Instant};
use target::Target;
pub use target::describe;
use told::{Teller, Voice};

/// The longest time between two readings, as programs have it that read by themselves.
const MAX_INTERVAL: Duration = Duration::from_secs(3600);
/// How often is looked whether something changed that is worth a word.
const LOOK: Duration = Duration::from_secs(1);
/// How long the end waits for a reading: unlike a program that reads by itself, nothing of the user's waits.
pub const END_WAITS: Duration = Duration::from_secs(5);

/// Runs the verb.
pub fn run(args: &MonitorArgs, dir: &Path) -> Outcome {
    if let Some(run) = &args.stop {
        return target::stop(dir, Some(run.as_str()).filter(|name| !name.is_empty()));
    }
    let plan = Plan::new(args, dir)?;
    // What can fail with the user looking on fails before anything is in the background.
    let endpoint = plan.prometheus.map(Endpoint::bind).transpose().map_err(Failure::Failed)?;
    let target = Target::make(args.run.as_deref(), dir)?;
    let background = match args.daemon {
        true => match background::leave(&target.machine.join("monitor.log"))? {
            Background::Parent(told) => return background::answer(&told, &target),
            Background::Child(child) => {
                target.describe()?;
                Some(child)
            }
        },
        false => None,
    };
    watch(&plan, &target, endpoint, background, args.quiet)
}

/// What was asked for, understood.
struct Plan {
    interval: Duration,
    lasts: Option<Duration>,
    max_bytes: u64,
    pid: Option<u32>,
    prometheus: Option<std::net::SocketAddr>,
}

impl Plan {
    fn new(args: &MonitorArgs, dir: &Path) -> Result<Plan, Failure> {
        let interval = interval(&args.interval)?;
        let lasts = args.lasts.as_deref().map(|text| time(text, "--for 60s")).transpose()?;
        let max_bytes = hodo_machine::parse_bytes(&args.max_bytes).filter(|&bytes| bytes > 0);
        let max_bytes = max_bytes.ok_or_else(|| {
            let text = &args.max_bytes;
            Failure::Usage(format!("`{text}` is no number of bytes; write --max-bytes 64m"))
        })?;
        let prometheus = args.prometheus.as_deref().map(prometheus::address).transpose()?;
        if let Some(pid) = args.pid.filter(|pid| !Path::new(&format!("/proc/{pid}")).is_dir()) {
            return Err(Failure::Failed(format!("there is no process {pid}")));
        }
        if dir.exists() && !dir.is_dir() {
            return Err(Failure::Failed(format!("{} is no folder", dir.display())));
        }
        Ok(Plan { interval, lasts, max_bytes, pid: args.pid, prometheus })
    }

    fn settings(&self, run: &Path) -> Settings {
        let roots = Roots::of_run(run);
        let roots = self.pid.map_or(roots.clone(), |pid| roots.and_pid(pid));
        // Files of a small cap are small, so that what goes is not all there is.
        let limits = Limits::default();
        let file_bytes = limits.file_bytes.min((self.max_bytes / 4).max(64 << 10));
        let has_readers = self.prometheus.is_some();
        Settings {
            run: run.to_owned(),
            interval: self.interval,
            kind: Kind::Monitor,
            scopes: None,
            reads_while_linked: has_readers,
            keeps_newest: has_readers,
            parts: Parts { processes: roots, gpus: Some(Visible::All) },
            limits: Limits { file_bytes, max_bytes: self.max_bytes, ..limits },
        }
    }
}

/// The time between two readings.
pub fn interval(text: &str) -> Result<Duration, Failure> {
    let interval = time(text, "--interval 1s")?;
    let [least, most] = [MIN_INTERVAL, MAX_INTERVAL].map(|t| number::duration(t.as_nanos() as f64));
    if interval < MIN_INTERVAL {
        return Err(Failure::Usage(format!(
            "{text} between two readings is too short: at least {least}"
        )));
    }
    if interval > MAX_INTERVAL {
        return Err(Failure::Usage(format!(
            "{text} between two readings is too long: at most {most}"
        )));
    }
    Ok(interval)
}

fn time(text: &str, example: &str) -> Result<Duration, Failure> {
    let ns = hodo_trace::parse_duration_ns(text).filter(|ns| ns.is_finite()).ok_or_else(|| {
        Failure::Usage(format!("`{text}` is no time with its unit; write {example}"))
    })?;
    if ns <= 0.0 {
        return Err(Failure::Usage(format!("`{text}` is no time at all; write {example}")));
    }
    Ok(Duration::from_nanos(ns as u64))
}

/// Samples until a signal or the end of the time, and says now and then how it goes.
fn watch(
    plan: &Plan,
    target: &Target,
    endpoint: Option<Endpoint>,
    background: Option<background::Child>,
    quiet: bool,
) -> Outcome {
    // Before any thread is there, so that a signal waits for the one that asks for it.
    let signals = Signals::block();
    let mut pid_file = PidFile::write(&target.machine);
    let sampling = std::sync::Arc::new(Sampling::start(plan.settings(&target.run)));
    let address = endpoint.as_ref().map(|endpoint| endpoint.address);
    let served = endpoint.map(|endpoint| endpoint.serve(sampling.clone(), plan.interval));
    let voice = Voice { is_log: background.is_some(), is_quiet: quiet };
    let mut teller = Teller::new(target, plan.interval, address, voice);
    if let Err(error) = &pid_file {
        voice.warn(&format!("`hodo monitor --stop` will not find this one: {error}"));
    }
    if let Some(Err(error)) = &served {
        let why = format!("cannot start the thread that answers Prometheus: {error}");
        return Err(Failure::Failed(why));
    }
    if let Some(background) = background {
        background.tell_ready();
    }
    let shipper = Beside::start(&target.run);
    let hindrance = match &shipper {
        Some(Err(why)) => Some(why.clone()),
        Some(Ok(shipper)) => shipper.hindrance(),
        None => None,
    };
    hindrance.iter().for_each(|why| voice.warn(why));
    let end = plan.lasts.map(|lasts| Instant::now() + lasts);
    loop {
        teller.look(&sampling.status());
        if let Some(file) = pid_file.as_mut().ok().filter(|file| file.is_gone())
            && target.restore().is_ok()
            && file.renew().is_ok()
        {
            voice.warn("its folder was deleted: it is made anew, and readings go on");
        }
        let left = end.map(|end| end.saturating_duration_since(Instant::now()));
        if left == Some(Duration::ZERO) || signals.wait(left.unwrap_or(LOOK).min(LOOK)) {
            break;
        }
    }
    sampling.stop_within(END_WAITS);
    teller.end(&sampling.status());
    if let Some(Ok(shipper)) = shipper {
        shipper.finish(WAIT).iter().for_each(|words| voice.say(words));
    }
    Ok(0)
}

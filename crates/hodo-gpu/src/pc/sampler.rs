//! Sampling on one context: enabled, started, stopped, fetched, disabled.

use super::buffer::{Buffer, MOST_REASONS, Seen};
use super::layout::{
    Fetch, Initialize, OfContext, REASON_BYTES, ReasonNames, Setting, Settings, setting,
};
use super::stall::Reasons;
use super::{Mode, Options};
use crate::cupti::code::result;
use crate::cupti::{Cupti, Problem};
use std::ffi::{CStr, c_char, c_void};

/// Instructions fetched at a time, and kept by CUPTI for the end: some ten megabytes each.
const PCS: usize = 16_384;
/// Host memory for samples that are not decoded yet. CUPTI's default overflows in a busy program.
const SCRATCH_BYTES: u64 = 16 << 20;
/// Calls that fetch, before it is taken that there is no end.
const MOST_FETCHES: usize = 10_000;

/// One context that is being sampled.
#[derive(Debug)]
pub struct Sampler {
    context: *mut c_void,
    /// CUPTI puts into this what is left when sampling is disabled.
    kept: Buffer,
    /// What is fetched goes here.
    fetched: Buffer,
    reasons: Reasons,
    /// Cycles between samples, as a power of two; none when CUPTI does not tell.
    pub period: Option<u32>,
    /// What did not go as it should.
    pub notes: Vec<String>,
}

// SAFETY: the context is a handle that any thread may use; the buffers are its own.
unsafe impl Send for Sampler {}

/// What CUPTI says of the samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Samples taken, of any code and dropped ones included.
    pub taken: u64,
    /// Samples that the hardware dropped.
    pub dropped: u64,
    /// Samples of code that is not the program's.
    pub foreign: u64,
    /// Instructions that came.
    pub pcs: u64,
    /// Calls that fetched them.
    pub fetches: u64,
    /// Whether the hardware's buffer was full.
    pub device_full: bool,
}

impl Totals {
    fn add(&mut self, buffer: &Buffer) {
        let data = buffer.data();
        self.taken += data.samples;
        self.dropped += data.dropped;
        self.foreign += data.foreign;
        self.pcs += data.filled as u64;
        self.device_full |= data.device_full != 0;
    }
}

impl Sampler {
    /// Prepares a context for sampling. Nothing is sampled yet, and its work should be done.
    pub fn enable(
        cupti: &Cupti,
        context: *mut c_void,
        options: &Options,
    ) -> Result<Sampler, Problem> {
        // All memory is taken before: taking some in between has made CUPTI refuse.
        let mut sampler = Sampler {
            context,
            kept: Buffer::new(cupti.version, PCS),
            fetched: Buffer::new(cupti.version, PCS),
            reasons: Reasons::default(),
            period: None,
            notes: Vec::new(),
        };
        let mut names = vec![[0 as c_char; REASON_BYTES]; MOST_REASONS];
        sampler.call(|params| {
            // SAFETY: the context is one in use.
            unsafe { cupti.pc_enable(params) }
        })?;
        match sampler.set_up(cupti, options, &mut names) {
            Ok(()) => Ok(sampler),
            Err(problem) => {
                sampler.abandon(cupti);
                Err(problem)
            }
        }
    }

    fn set_up(
        &mut self,
        cupti: &Cupti,
        options: &Options,
        names: &mut [[c_char; REASON_BYTES]],
    ) -> Result<(), Problem> {
        let mut count = self.count_reasons(cupti)?;
        if count == 0 {
            // Some drivers have none before the profiling functions were prepared.
            let mut params =
                Initialize { size: size_of::<Initialize>(), private: std::ptr::null_mut() };
            // SAFETY: the structure is the one that is asked for.
            unsafe { cupti.profiler_initialize((&raw mut params).cast()) }?;
            self.notes.push("no stall reasons at first: profiling functions were prepared".into());
            count = self.count_reasons(cupti)?;
        }
        if count == 0 || count > MOST_REASONS {
            let function = format!("cuptiPCSamplingGetNumStallReasons ({count} reasons)");
            return Err(Problem { function, code: 0, name: "a number that makes no sense".into() });
        }
        self.reasons = self.name_reasons(cupti, names, count)?;
        self.configure(cupti, options)?;
        self.period = self.ask_period(cupti);
        Ok(())
    }

    /// Calls a function that takes a context alone.
    fn call(
        &self,
        function: impl FnOnce(*mut c_void) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        let mut params = OfContext::new(self.context, size_of::<OfContext>());
        function((&raw mut params).cast())
    }

    fn count_reasons(&self, cupti: &Cupti) -> Result<usize, Problem> {
        let mut count = 0usize;
        let of = OfContext::new(self.context, size_of::<Fetch>());
        let mut params = Fetch { of, into: (&raw mut count).cast() };
        // SAFETY: CUPTI fills the number in.
        unsafe { cupti.pc_reason_count((&raw mut params).cast()) }?;
        Ok(count)
    }

    fn name_reasons(
        &self,
        cupti: &Cupti,
        names: &mut [[c_char; REASON_BYTES]],
        count: usize,
    ) -> Result<Reasons, Problem> {
        let mut indices = [0u32; MOST_REASONS];
        let mut places: [*mut c_char; MOST_REASONS] = [std::ptr::null_mut(); MOST_REASONS];
        places.iter_mut().zip(names.iter_mut()).for_each(|(at, name)| *at = name.as_mut_ptr());
        let mut params = ReasonNames {
            of: OfContext::new(self.context, size_of::<ReasonNames>()),
            count,
            indices: indices.as_mut_ptr(),
            names: places.as_mut_ptr(),
        };
        // SAFETY: there is room for as many numbers and names as told.
        unsafe { cupti.pc_reasons((&raw mut params).cast()) }?;
        // SAFETY: names were zeroed and end in a NUL within their length, or are cut there.
        let text = |name: &mut [c_char; REASON_BYTES]| unsafe {
            name[REASON_BYTES - 1] = 0;
            CStr::from_ptr(name.as_ptr()).to_string_lossy().into_owned()
        };
        let texts: Vec<String> = names[..count].iter_mut().map(text).collect();
        let named = indices.iter().copied().zip(texts.iter().map(String::as_str));
        Ok(Reasons::new(named))
    }

    /// Says how to sample; where that is refused, only what cannot be left out.
    fn configure(&mut self, cupti: &Cupti, options: &Options) -> Result<(), Problem> {
        let mode = match options.mode {
            Mode::Continuous => 1,
            Mode::Serialized => 2,
        };
        let buffer = self.kept.prepare() as u64;
        let needed = [(setting::MODE, mode), (setting::START_STOP, 1), (setting::BUFFER, buffer)];
        let wanted = [
            Some((setting::SCRATCH_BYTES, SCRATCH_BYTES)),
            options.period.map(|period| (setting::PERIOD, period.into())),
            options.device_bytes.map(|bytes| (setting::DEVICE_BYTES, bytes)),
        ];
        let whole: Vec<_> = needed.iter().copied().chain(wanted.into_iter().flatten()).collect();
        let (refused, statuses) = match self.set(cupti, &whole) {
            (Ok(()), _) => return Ok(()),
            (Err(problem), statuses) => (problem, statuses),
        };
        self.notes.push(format!("{refused} to settings {statuses}; sampling with the defaults"));
        self.set(cupti, &needed).0
    }

    /// Sets attributes; also says how CUPTI answered to each.
    fn set(&self, cupti: &Cupti, values: &[(u32, u64)]) -> (Result<(), Problem>, String) {
        let setting = |&(attribute, value): &(u32, u64)| Setting {
            attribute,
            status: 0,
            value: [value, 0, 0],
        };
        let mut settings: Vec<Setting> = values.iter().map(setting).collect();
        let mut params = Settings {
            of: OfContext::new(self.context, size_of::<Settings>()),
            count: settings.len(),
            first: settings.as_mut_ptr(),
        };
        // SAFETY: the settings are as many as told, and have the values their attributes have.
        let told = unsafe { cupti.pc_configure((&raw mut params).cast()) };
        let status = |setting: &Setting| format!("{}: {}", setting.attribute, setting.status);
        (told, settings.iter().map(status).collect::<Vec<_>>().join(", "))
    }

    fn ask_period(&self, cupti: &Cupti) -> Option<u32> {
        let mut settings = [Setting { attribute: setting::PERIOD, status: 0, value: [0; 3] }];
        let mut params = Settings {
            of: OfContext::new(self.context, size_of::<Settings>()),
            count: 1,
            first: settings.as_mut_ptr(),
        };
        // SAFETY: CUPTI fills the value in.
        unsafe { cupti.pc_configuration((&raw mut params).cast()) }.ok()?;
        Some(settings[0].value[0] as u32).filter(|period| (1..32).contains(period))
    }

    /// The context.
    pub fn context(&self) -> *mut c_void {
        self.context
    }

    /// The reasons that are told apart.
    pub fn reasons(&self) -> &Reasons {
        &self.reasons
    }

    /// Begins to sample.
    pub fn start(&self, cupti: &Cupti) -> Result<(), Problem> {
        // SAFETY: the context is enabled.
        self.call(|params| unsafe { cupti.pc_start(params) })
    }

    /// Samples no more.
    pub fn stop(&self, cupti: &Cupti) -> Result<(), Problem> {
        // SAFETY: the context is enabled.
        self.call(|params| unsafe { cupti.pc_stop(params) })
    }

    /// Hands over what was sampled so far.
    pub fn fetch(
        &mut self,
        cupti: &Cupti,
        totals: &mut Totals,
        take: &mut dyn FnMut(Seen),
    ) -> Result<(), Problem> {
        for _ in 0..MOST_FETCHES {
            let of = OfContext::new(self.context, size_of::<Fetch>());
            let mut params = Fetch { of, into: self.fetched.prepare().cast() };
            // SAFETY: the buffer is as large as it says.
            let told = unsafe { cupti.pc_data((&raw mut params).cast()) };
            totals.fetches += 1;
            match told {
                Err(problem) if problem.code == result::OUT_OF_MEMORY => {
                    totals.device_full = true;
                    totals.add(&self.fetched);
                    self.fetched.seen().for_each(&mut *take);
                    return Err(problem);
                }
                other => other?,
            }
            totals.add(&self.fetched);
            self.fetched.seen().for_each(&mut *take);
            let data = self.fetched.data();
            if data.remaining == 0 || data.filled == 0 {
                break;
            }
        }
        Ok(())
    }

    /// Disables sampling, and hands over what CUPTI still had: so many instructions.
    pub fn disable(
        mut self,
        cupti: &Cupti,
        totals: &mut Totals,
        take: &mut dyn FnMut(Seen),
    ) -> Result<usize, Problem> {
        // SAFETY: the context is enabled.
        if let Err(problem) = self.call(|params| unsafe { cupti.pc_disable(params) }) {
            self.leak();
            return Err(problem);
        }
        let late = self.kept.data().filled;
        if late > 0 {
            totals.add(&self.kept);
            self.kept.seen().for_each(take);
        }
        Ok(late)
    }

    /// Disables sampling whatever was sampled.
    pub fn abandon(self, cupti: &Cupti) {
        let _ = self.disable(cupti, &mut Totals::default(), &mut |_| {});
    }

    /// Gives up without a word to CUPTI, which may still write: its memory stays.
    pub fn leak(&mut self) {
        let none = || Buffer::new(0, 0);
        std::mem::forget(std::mem::replace(&mut self.kept, none()));
        std::mem::forget(std::mem::replace(&mut self.fetched, none()));
    }
}

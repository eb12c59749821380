//! Benchmark loops: warm-up, then iterations that are each recorded and timed.

use crate::backend;
use crate::scope::open_with;
use crate::{Scope, Statistics};
use backend::Site;
use hodo_record::flag;
use std::hint::black_box;
use std::time::Instant;

static ITERATION: Site = Site::new("iteration");

/// A benchmark loop being set up; see [`bench()`].
///
/// Run it with [`run`](Bench::run), or as a `for` loop over the index of each iteration.
#[derive(Clone, Debug)]
#[must_use = "nothing runs until `run` is called or the loop is iterated"]
pub struct Bench {
    name: String,
    tag: Option<String>,
    repeat: u32,
    warmup: u32,
}

/// A benchmark loop: 10 iterations and no warm-up unless said otherwise.
///
/// Recorded are a scope of this name with the attributes `repeat`, `warmup` and `tag` and a child
/// `iteration` for each measured pass, and before it a scope `<name> warm-up` for the rest.
///
/// ```
/// let data = vec![1.0_f64; 1000];
/// let times = hodo::bench("sum").tag("math").repeat(20).warmup(3).run(|| data.iter().sum::<f64>());
/// assert_eq!(times.samples_ns.len(), 20);
/// assert!(times.min_ns <= times.median_ns && times.median_ns <= times.p95_ns);
/// ```
///
/// As a loop; the index of a warm-up pass is negative:
///
/// ```
/// let mut passes = Vec::new();
/// for i in hodo::bench("push").repeat(2).warmup(1) {
///     passes.push(i);
/// }
/// assert_eq!(passes, [-1, 0, 1]);
/// ```
pub fn bench(name: impl Into<String>) -> Bench {
    Bench { name: name.into(), tag: None, repeat: 10, warmup: 0 }
}

impl Bench {
    /// A word shown next to the name.
    pub fn tag(mut self, tag: impl Into<String>) -> Self {
        self.tag = Some(tag.into());
        self
    }

    /// How many passes are measured.
    pub fn repeat(mut self, repeat: u32) -> Self {
        self.repeat = repeat;
        self
    }

    /// How many passes come first and are not measured.
    pub fn warmup(mut self, warmup: u32) -> Self {
        self.warmup = warmup;
        self
    }

    /// Runs `work` for every pass and gives the times of the measured ones.
    ///
    /// What `work` returns goes through [`black_box`], so the compiler cannot drop the work, and is
    /// dropped outside the measured time.
    pub fn run<T>(self, mut work: impl FnMut() -> T) -> Statistics {
        let mut samples_ns = Vec::with_capacity(self.repeat as usize);
        let mut passes = self.into_iter();
        while let Some(index) = passes.next() {
            let start = Instant::now();
            let result = black_box(work());
            let took = start.elapsed();
            passes.end_iteration();
            drop(result);
            if index >= 0 {
                samples_ns.push(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
            }
        }
        Statistics::new(samples_ns)
    }

    fn open_warmup(&self) -> Scope {
        let name = backend::intern(&format!("{} warm-up", self.name));
        let scope = open_with(name, flag::WARMUP, None);
        self.describe(&scope);
        scope
    }

    fn open_measured(&self) -> Scope {
        let scope = open_with(backend::intern(&self.name), flag::BENCH, None);
        crate::set!(scope, repeat = self.repeat, warmup = self.warmup);
        self.describe(&scope);
        scope
    }

    fn describe(&self, scope: &Scope) {
        if let Some(tag) = &self.tag {
            crate::set!(scope, tag = tag);
        }
    }
}

impl IntoIterator for Bench {
    type Item = i64;
    type IntoIter = Iterations;

    fn into_iter(self) -> Iterations {
        let next_index = -i64::from(self.warmup);
        Iterations { bench: self, next_index, iteration: None, part: None }
    }
}

/// The passes of a benchmark loop, by index; warm-up passes are negative.
///
/// ```
/// let mut passes = hodo::bench("step").repeat(2).warmup(1).into_iter();
/// assert_eq!(passes.len(), 3);
/// assert_eq!(passes.next(), Some(-1));
/// ```
pub struct Iterations {
    bench: Bench,
    next_index: i64,
    // Before `part`, so that it closes first.
    iteration: Option<Scope>,
    part: Option<Scope>,
}

impl Iterations {
    fn end_iteration(&mut self) {
        self.iteration = None;
    }

    fn open(&mut self, index: i64) {
        if index == 0 || self.part.is_none() {
            self.part = None;
            let first_measured = index >= 0;
            self.part = Some(if first_measured {
                self.bench.open_measured()
            } else {
                self.bench.open_warmup()
            });
        }
        let warmup = if index < 0 { flag::WARMUP } else { 0 };
        self.iteration = Some(open_with(ITERATION.id(), flag::ITERATION | warmup, Some(index)));
    }
}

impl Iterator for Iterations {
    type Item = i64;

    fn next(&mut self) -> Option<i64> {
        self.end_iteration();
        let index = self.next_index;
        if index >= i64::from(self.bench.repeat) {
            self.part = None;
            return None;
        }
        if backend::is_on() {
            self.open(index);
        }
        self.next_index += 1;
        Some(index)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(i64::from(self.bench.repeat) - self.next_index).unwrap_or(0);
        (left, Some(left))
    }
}

impl ExactSizeIterator for Iterations {}

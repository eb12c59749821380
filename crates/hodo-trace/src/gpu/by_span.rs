//! GPU work by single scope, for views that show scopes one by one.

use super::busy::{Cover, Devices, Seeker, Unions};
use super::{GpuGap, GpuMissing, GpuTotals};
use crate::index::NO_ROW;
use crate::{Process, Row};
use std::cell::RefCell;

/// GPU work of the scopes of a process, made once for all of them.
pub struct GpuBySpan<'a> {
    process: &'a Process,
    missing: Option<GpuMissing>,
    /// By row of scope, its place in what follows.
    places: Vec<Row>,
    own: Vec<GpuTotals>,
    all: Vec<GpuTotals>,
    cover: Cover,
    gaps: Vec<GpuGap>,
    near: RefCell<usize>,
}

/// GPU work of one scope.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpanGpu {
    /// What it launched itself.
    pub own: GpuTotals,
    /// What it and the scopes inside it launched.
    pub all: GpuTotals,
    /// Time inside in which no device of the process was busy, nanoseconds; none when nothing was
    /// captured in part of it, and then the other numbers are too small.
    pub idle_ns: Option<u64>,
}

impl Process {
    /// GPU work by scope.
    pub fn gpu_by_span(&self) -> GpuBySpan<'_> {
        let missing = self.gpu.missing_times(&self.clock);
        let mut by_span = GpuBySpan {
            process: self,
            missing,
            places: Vec::new(),
            own: Vec::new(),
            all: Vec::new(),
            cover: Cover::of(&self.gpu.work),
            gaps: self.gpu.gaps(),
            near: RefCell::new(0),
        };
        if missing.is_none() {
            by_span.fill();
        }
        by_span
    }
}

impl GpuBySpan<'_> {
    /// The work of one scope, or why it is not known.
    pub fn of(&self, row: Row) -> Result<SpanGpu, GpuMissing> {
        if let Some(missing) = self.missing {
            return Err(missing);
        }
        let place = self.places.get(row as usize).copied().unwrap_or(NO_ROW) as usize;
        let of = |totals: &[GpuTotals]| totals.get(place).copied().unwrap_or_default();
        Ok(SpanGpu { own: of(&self.own), all: of(&self.all), idle_ns: self.idle_ns(row) })
    }

    fn idle_ns(&self, row: Row) -> Option<u64> {
        let spans = &self.process.spans;
        let (start, end) = (spans.start(row), spans.end(row));
        if self.gaps.iter().any(|gap| gap.touches(start, end)) {
            return None;
        }
        let mut near = self.near.borrow_mut();
        let mut seeker = Seeker::from(&self.cover, *near);
        let covered = seeker.covered(start, end);
        *near = seeker.place();
        Some(self.process.clock.duration_ns(spans.duration(row) - covered))
    }

    fn fill(&mut self) {
        let (work, spans) = (&self.process.gpu.work, &self.process.spans);
        let devices = Devices::of(work);
        let (mut own, mut all) = (Unions::new(0, devices.len()), Unions::new(0, devices.len()));
        self.places = vec![NO_ROW; spans.len()];
        for row in work.rows().filter(|&row| work.is_busy(row)) {
            let device = devices.place(work.device(row));
            let interval = work.interval(row);
            let ns = interval.map(|(start, end)| self.process.clock.duration_ns(end - start));
            let kernel = work.kernel(row).is_some();
            let launcher = spans.row_of(work.span(row));
            let mut next = launcher;
            while let Some(scope) = next {
                let place = &mut self.places[scope as usize];
                if *place == NO_ROW {
                    *place = own.add_key() as Row;
                    all.add_key();
                    self.own.push(GpuTotals::default());
                    self.all.push(GpuTotals::default());
                }
                let place = *place as usize;
                self.all[place].count(kernel, ns);
                interval.into_iter().for_each(|interval| all.add(place, device, interval));
                if next == launcher {
                    self.own[place].count(kernel, ns);
                    interval.into_iter().for_each(|interval| own.add(place, device, interval));
                }
                next = spans.parent_row(scope);
            }
        }
        let clock = &self.process.clock;
        for (place, (own_of, all_of)) in self.own.iter_mut().zip(&mut self.all).enumerate() {
            own_of.busy_ns = clock.duration_ns(own.ticks(place));
            all_of.busy_ns = clock.duration_ns(all.ticks(place));
        }
    }
}

impl GpuTotals {
    pub(crate) fn count(&mut self, kernel: bool, ns: Option<u64>) {
        if kernel {
            self.kernels += 1;
            self.kernel_ns += ns.unwrap_or(0);
        }
    }
}

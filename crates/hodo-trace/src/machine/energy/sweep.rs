//! Divides the power of GPUs among scopes, going once through their time.
//!
//! The way leads backward: scopes are stored in the order they closed, so going back meets each at
//! its end and needs to remember only those that are open. What an open scope gets at a moment is
//! the same for all that get any, so a running sum of it is kept and each scope notes where the sum
//! stood when its turn began.

mod kernels;
mod lane;
mod leaves;

use super::power::{Backward, Power};
use super::users::User;
use crate::links::Links;
use crate::machine::Machine;
use crate::{Row, Run, WorkRow};
use kernels::Kernels;
use lane::{Ends, Lane};
use leaves::Leaves;

/// A scope: place of its process, and its row.
pub(super) type Place = (usize, Row);

/// GPUs that the same threads use.
pub(super) struct Group<'a> {
    pub(super) machine: &'a Machine,
    pub(super) users: &'a [User],
    pub(super) gpus: Vec<GroupGpu<'a>>,
}

pub(super) struct GroupGpu<'a> {
    pub(super) power: &'a Power,
    pub(super) kernels: &'a [(usize, WorkRow)],
}

/// Takes what scopes got.
pub(super) trait Receive {
    /// A scope got joules, since kernels of its ran or since it was open.
    fn give(&mut self, scope: Place, joules: f64, by_kernels: bool);
}

/// Divides the power of the group's GPUs; returns what each used outside any scope.
pub(super) fn divide(
    run: &Run,
    links: &Links,
    group: &Group<'_>,
    receive: &mut impl Receive,
) -> Vec<f64> {
    let lane = |user: &User| Lane::new(run, group.machine, user);
    let lanes: Vec<Lane<'_>> = group.users.iter().filter_map(lane).collect();
    let mut ends = Ends::new(&lanes);
    let mut leaves = Leaves::new(run, links, &lanes);
    let mut gpus: Vec<Gpu<'_>> = group.gpus.iter().map(|gpu| Gpu::new(run, group, gpu)).collect();
    loop {
        let (end, begin) = (ends.next(), leaves.next());
        let kernel = gpus.iter().filter_map(|gpu| gpu.kernels.next()).max();
        let Some(moment) = end.max(begin).max(kernel) else { break };
        gpus.iter_mut().for_each(|gpu| gpu.pass(moment, &mut leaves));
        // A scope of no length is open before it is no more.
        if end == Some(moment) {
            if let Some((lane, row)) = ends.pop(&lanes) {
                let of = &lanes[lane];
                leaves.open((lane, row), of.begins(row), of.parent(row), receive);
            }
        } else if begin == Some(moment) {
            leaves.close(receive);
        } else {
            gpus.iter_mut().for_each(|gpu| gpu.kernels.step(moment, receive));
        }
    }
    gpus.iter_mut().for_each(|gpu| gpu.pass(i64::MIN, &mut leaves));
    gpus.into_iter().map(|gpu| gpu.outside + gpu.kernels.outside).collect()
}

/// A GPU on the way back.
struct Gpu<'a> {
    power: Backward<'a>,
    kernels: Kernels<'a>,
    /// Joules before the moment the way has come to.
    left: f64,
    outside: f64,
}

impl<'a> Gpu<'a> {
    fn new(run: &'a Run, group: &Group<'a>, gpu: &GroupGpu<'a>) -> Gpu<'a> {
        let kernels = Kernels::new(run, group.machine, gpu.kernels);
        let (power, left) = (Backward::new(gpu.power), gpu.power.joules());
        Gpu { power, kernels, left, outside: 0.0 }
    }

    /// Gives away what was used since `moment`, up to where the way had come to.
    #[inline]
    fn pass(&mut self, moment: i64, leaves: &mut Leaves) {
        let until = self.power.until(moment);
        let joules = self.left - until;
        self.left = until;
        if joules == 0.0 {
            return;
        }
        if self.kernels.is_running() {
            self.kernels.get(joules);
        } else if leaves.is_empty() {
            self.outside += joules;
        } else {
            leaves.get(joules);
        }
    }
}

//! The memory that queries share.

use datafusion::error::Result;
use datafusion::execution::memory_pool::{
    FairSpillPool, MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation,
};
use std::fmt;

/// How the consumers begin that pass rows from one step of a query to the next.
const PASSES: &str = "RepartitionExec[";

/// A fair share for each that can put its rows into files, but no refusal for those that only pass them on.
///
/// Rows that the engine passes on by way of files may wait for each other for ever: its reader looks at the
/// oldest file alone, and its writers stop while another has rows (DataFusion up to 55.2, its issue 24883).
/// What is passed on without files is little, since the writers stop as soon as every reader has some; it
/// counts, so that the others go to files earlier.
#[derive(Debug)]
pub struct Pool(FairSpillPool);

impl Pool {
    /// Of so many bytes.
    pub fn new(bytes: usize) -> Pool {
        Pool(FairSpillPool::new(bytes))
    }
}

impl fmt::Display for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl MemoryPool for Pool {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn register(&self, consumer: &MemoryConsumer) {
        self.0.register(consumer);
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        self.0.unregister(consumer);
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        self.0.grow(reservation, additional);
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        self.0.shrink(reservation, shrink);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        let consumer = reservation.consumer();
        if consumer.can_spill() && consumer.name().starts_with(PASSES) {
            self.0.grow(reservation, additional);
            return Ok(());
        }
        self.0.try_grow(reservation, additional)
    }

    fn reserved(&self) -> usize {
        self.0.reserved()
    }

    fn memory_limit(&self) -> MemoryLimit {
        self.0.memory_limit()
    }
}

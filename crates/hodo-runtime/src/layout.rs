//! What a header may inline the opening and closing of scopes on: the first part of the recorder's own
//! state of a thread.

use hodo_record::binding::{Slot, Thread};
use std::mem::offset_of;

/// Version of `hodo_thread` and `hodo_slot`: with another one only the functions may use them.
pub const HODO_LAYOUT: u32 = 2;

/// An open scope, in memory that outlives the process. Its words stand where the record has them.
#[derive(Debug)]
#[repr(C)]
pub struct SlotState {
    /// `hodo_head`.
    pub head: u64,
    /// Its id, stored last on opening, with release order; 0 while the slot is free.
    pub id: u64,
    /// The parent's id.
    pub parent: u64,
    /// Ticks when it opened.
    pub start: u64,
    /// The parent's slot, or the next free one.
    pub up: *mut SlotState,
    /// The thread's CPU ticks when it opened.
    pub cpu: u64,
    /// The index.
    pub index: i64,
    /// Ticks of recording work inside it so far.
    pub overhead: u64,
}

/// A thread's state. Only the thread itself writes it, but for `fast` and `scope_cost`; more follows
/// that is not for headers.
#[derive(Debug)]
#[repr(C)]
pub struct ThreadState {
    /// Non-zero while scopes may be opened without a call.
    pub fast: u32,
    /// Scopes and contexts that are not recorded.
    pub unrecorded: u32,
    /// The innermost open scope; one that is no scope when none is open.
    pub current: *mut SlotState,
    /// Slots to open scopes in, linked by `up`; null asks for a call.
    pub free: *mut SlotState,
    /// Id of the next scope.
    pub next_id: u64,
    /// Where the next record of eight words goes.
    pub cursor: *mut u64,
    /// Where records must stop; at it, a call is needed.
    pub end: *mut u64,
    /// Records published, to be stored with release order.
    pub published: *mut u32,
    /// A word that the kernel changes when the thread loses its CPU.
    pub watch: *const u64,
    /// What it holds while CPU ticks are `offset` more than the counter's.
    pub armed: u64,
    /// The counter from which on that no longer holds.
    pub until: u64,
    /// See `armed`.
    pub offset: u64,
    /// Ticks that one open and close cost.
    pub scope_cost: u64,
    /// Openings and closings that had no reading of the counter to themselves.
    pub shared_readings: u64,
}

const _: () = {
    assert!(HODO_LAYOUT == hodo_record::binding::LAYOUT_VERSION);
    assert!(size_of::<SlotState>() == size_of::<Slot>());
    assert!(offset_of!(SlotState, id) == offset_of!(Slot, id));
    assert!(offset_of!(SlotState, parent) == offset_of!(Slot, parent));
    assert!(offset_of!(SlotState, start) == offset_of!(Slot, start));
    assert!(offset_of!(SlotState, up) == offset_of!(Slot, up));
    assert!(offset_of!(SlotState, cpu) == offset_of!(Slot, cpu));
    assert!(offset_of!(SlotState, index) == offset_of!(Slot, index));
    assert!(offset_of!(SlotState, overhead) == offset_of!(Slot, overhead));
    assert!(offset_of!(ThreadState, fast) == offset_of!(Thread, fast));
    assert!(offset_of!(ThreadState, unrecorded) == offset_of!(Thread, unrecorded));
    assert!(offset_of!(ThreadState, current) == offset_of!(Thread, current));
    assert!(offset_of!(ThreadState, free) == offset_of!(Thread, free));
    assert!(offset_of!(ThreadState, next_id) == offset_of!(Thread, next_id));
    assert!(offset_of!(ThreadState, cursor) == offset_of!(Thread, cursor));
    assert!(offset_of!(ThreadState, end) == offset_of!(Thread, end));
    assert!(offset_of!(ThreadState, published) == offset_of!(Thread, published));
    assert!(offset_of!(ThreadState, watch) == offset_of!(Thread, cpu.watch));
    assert!(offset_of!(ThreadState, armed) == offset_of!(Thread, cpu.armed));
    assert!(offset_of!(ThreadState, until) == offset_of!(Thread, cpu.deadline));
    assert!(offset_of!(ThreadState, offset) == offset_of!(Thread, cpu.offset));
    assert!(offset_of!(ThreadState, scope_cost) == offset_of!(Thread, scope_cost));
    assert!(offset_of!(ThreadState, shared_readings) == offset_of!(Thread, shared_readings));
};

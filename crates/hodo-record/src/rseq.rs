//! Seeing a context switch through the restartable-sequence field.
//!
//! glibc registers a `struct rseq` for every thread. The kernel checks its `rseq_cs` field whenever
//! the thread was scheduled out or handled a signal, and clears it when the thread stood outside the
//! critical section that the field describes. A descriptor whose section is never executed is
//! therefore a flag that the kernel clears on every switch.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Offset of `rseq_cs` in the kernel's `struct rseq`.
const RSEQ_CS_AT: isize = 8;

/// The kernel's `struct rseq_cs`, 32-byte aligned.
#[repr(C, align(32))]
struct Descriptor {
    version: u32,
    flags: u32,
    start_ip: u64,
    post_commit_offset: u64,
    abort_ip: u64,
}

// The kernel kills a process whose abort address does not follow this signature, so the
// descriptor names a real one; the code after it traps because nothing ever jumps there.
#[cfg(target_arch = "x86_64")]
core::arch::global_asm!(
    ".pushsection .text.hodo_rseq_v1,\"ax\",@progbits",
    ".p2align 4",
    ".long 0x53053053",
    ".hidden hodo_rseq_abort_v1",
    ".globl hodo_rseq_abort_v1",
    "hodo_rseq_abort_v1:",
    "ud2",
    ".p2align 4",
    "ud2",
    ".popsection",
);
#[cfg(target_arch = "aarch64")]
core::arch::global_asm!(
    ".pushsection .text.hodo_rseq_v1,\"ax\",@progbits",
    ".p2align 4",
    ".inst 0xd428bc00",
    ".hidden hodo_rseq_abort_v1",
    ".globl hodo_rseq_abort_v1",
    "hodo_rseq_abort_v1:",
    "brk #1",
    ".p2align 4",
    "brk #1",
    ".popsection",
);

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
unsafe extern "C" {
    fn hodo_rseq_abort_v1();
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn descriptor() -> &'static Descriptor {
    static DESCRIPTOR: OnceLock<Descriptor> = OnceLock::new();
    DESCRIPTOR.get_or_init(|| {
        let abort_ip = hodo_rseq_abort_v1 as *const () as u64;
        // The section is the aligned trap behind the abort address: inside our own text, never run.
        let start_ip = (abort_ip + 15) & !15;
        Descriptor { version: 0, flags: 0, start_ip, post_commit_offset: 1, abort_ip }
    })
}

/// The calling thread's `rseq_cs` field, if glibc registered one.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub fn field() -> Option<&'static AtomicU64> {
    static OFFSET: OnceLock<Option<isize>> = OnceLock::new();
    let offset = (*OFFSET.get_or_init(registered_offset))?;
    // SAFETY: glibc keeps the rseq area at this offset from the thread pointer for the thread's
    // whole life, and only this thread and the kernel write the field.
    Some(unsafe { &*thread_pointer().offset(offset + RSEQ_CS_AT).cast::<AtomicU64>() })
}

/// The calling thread's `rseq_cs` field: not known for this architecture.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub fn field() -> Option<&'static AtomicU64> {
    None
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn registered_offset() -> Option<isize> {
    // SAFETY: dlsym with constant names; the symbols are data of glibc, read once it is loaded.
    unsafe {
        let size = libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_size".as_ptr()).cast::<u32>();
        let offset = libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_offset".as_ptr()).cast::<isize>();
        if size.is_null() || offset.is_null() || *size == 0 {
            return None;
        }
        Some(*offset)
    }
}

#[cfg(target_arch = "x86_64")]
fn thread_pointer() -> *mut u8 {
    let pointer: *mut u8;
    // SAFETY: the first word of the thread control block is its own address on x86-64.
    unsafe {
        core::arch::asm!("mov {}, fs:[0]", out(reg) pointer, options(nostack, readonly, pure));
    }
    pointer
}

#[cfg(target_arch = "aarch64")]
fn thread_pointer() -> *mut u8 {
    let pointer: *mut u8;
    // SAFETY: reading the thread pointer register has no effect.
    unsafe { core::arch::asm!("mrs {}, tpidr_el0", out(reg) pointer, options(nomem, nostack)) };
    pointer
}

/// Points the field at the descriptor and returns the value that means "still on the CPU".
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub fn arm(field: &AtomicU64) -> u64 {
    let armed = std::ptr::from_ref(descriptor()) as u64;
    field.store(armed, Ordering::Relaxed);
    armed
}

/// Never called: [`field`] finds none on this architecture.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub fn arm(_field: &AtomicU64) -> u64 {
    0
}

/// Whether the kernel clears the field after a blocking call, as the method needs.
pub fn self_test() -> Result<(), String> {
    let field = field().ok_or("glibc has not registered restartable sequences")?;
    let held = field.load(Ordering::Relaxed);
    if held != 0 && held != arm(field) {
        field.store(held, Ordering::Relaxed);
        return Err("another library holds the field".into());
    }
    for _ in 0..3 {
        let armed = arm(field);
        std::thread::sleep(std::time::Duration::from_millis(1));
        if field.load(Ordering::Relaxed) == armed {
            field.store(0, Ordering::Relaxed);
            return Err("this kernel does not clear the field after a blocking call".into());
        }
    }
    Ok(())
}

//! Keeping the recorder's code mapped: the kernel and other threads hold addresses in it.

/// Makes the library this code is in stay, should somebody `dlclose` it.
pub fn pin_library() {
    // SAFETY: asks the loader about an address of our own and opens what is open already.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        let here = pin_library as *const () as *const libc::c_void;
        if libc::dladdr(here, &mut info) != 0 && !info.dli_fname.is_null() {
            let flags = libc::RTLD_NOW | libc::RTLD_NOLOAD | libc::RTLD_NODELETE;
            libc::dlopen(info.dli_fname, flags);
        }
    }
}

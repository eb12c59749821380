//! Kernel names: CUPTI gives their address, the run keeps each text once.

use std::collections::HashMap;
use std::ffi::CStr;

/// String ids by address.
#[derive(Debug, Default)]
pub struct Names(HashMap<u64, (Box<[u8]>, u32)>);

impl Names {
    /// The string id of the name at an address; 0 for no name.
    ///
    /// # Safety
    /// The address is 0 or that of a text that ends in a NUL.
    pub unsafe fn id(&mut self, address: u64) -> u32 {
        if address == 0 {
            return 0;
        }
        // SAFETY: by the contract.
        let text = unsafe { CStr::from_ptr(address as *const _) }.to_bytes();
        // An address may name another kernel after a module was unloaded.
        if let Some((known, id)) = self.0.get(&address)
            && **known == *text
        {
            return *id;
        }
        let id = hodo_record::binding::intern_symbol(&String::from_utf8_lossy(text));
        self.0.insert(address, (text.into(), id));
        id
    }
}

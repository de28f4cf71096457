//! Wine says by a function of its own that it is no Windows.

use windows_sys::Win32::System::LibraryLoader::{GetModuleHandleW, GetProcAddress};
use windows_sys::core::{s, w};

/// Whether this is a program for Windows under Wine.
pub fn is_wine() -> bool {
    // SAFETY: both names end with a zero, and that library is in every process, so its handle stays good.
    unsafe {
        let ntdll = GetModuleHandleW(w!("ntdll.dll"));
        !ntdll.is_null() && GetProcAddress(ntdll, s!("wine_get_version")).is_some()
    }
}

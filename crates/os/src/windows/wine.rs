//! Detects Wine, which has a function that Windows lacks.

use windows_sys::Win32::System::LibraryLoader::{GetModuleHandleW, GetProcAddress};
use windows_sys::core::{s, w};

/// Returns true for a Windows program under Wine.
pub fn is_wine() -> bool {
    // SAFETY: both names end with a zero, and every process has that library, so its handle stays good.
    unsafe {
        let ntdll = GetModuleHandleW(w!("ntdll.dll"));
        !ntdll.is_null() && GetProcAddress(ntdll, s!("wine_get_version")).is_some()
    }
}

//! Facts about a process from `libproc`, by its pid. The caller holds the process meanwhile, or takes them as hints
//! only.

use super::length_of;
use std::io;
use std::mem::MaybeUninit;

/// Includes zombies in the search.
const INCLUDE_ZOMBIES: u64 = 1;

/// Calls `proc_pidinfo`; `None` if there is no such process.
///
/// # Safety
/// All zeroes must be a valid `T`, and `T` must be the structure of this flavour.
unsafe fn told<T>(pid: i32, flavor: libc::c_int, arg: u64) -> io::Result<Option<T>> {
    let mut place = MaybeUninit::<T>::zeroed();
    let length = length_of::<T>();
    // SAFETY: the place is ours and as long as we say.
    let got = unsafe { libc::proc_pidinfo(pid, flavor, arg, place.as_mut_ptr().cast(), length) };
    if got == length {
        // SAFETY: as the caller promises, the structure is complete.
        return Ok(Some(unsafe { place.assume_init() }));
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::ESRCH) => Ok(None),
        _ => Err(error),
    }
}

/// Returns the facts about a process, alive or dead. For another user's process this is an error.
pub(crate) fn about(pid: i32) -> io::Result<Option<libc::proc_bsdinfo>> {
    // SAFETY: the structure is the flavour's, of numbers only.
    unsafe { told(pid, libc::PROC_PIDTBSDINFO, INCLUDE_ZOMBIES) }
}

/// Returns the few facts that are open to everybody, about a process alive or dead.
pub(crate) fn in_short(pid: i32) -> io::Result<Option<libc::proc_bsdshortinfo>> {
    // SAFETY: the structure is the flavour's, of numbers only.
    unsafe { told(pid, libc::PROC_PIDT_SHORTBSDINFO, INCLUDE_ZOMBIES) }
}

pub(crate) fn task(pid: i32) -> io::Result<Option<libc::proc_taskinfo>> {
    // SAFETY: the structure is the flavour's, of numbers only.
    unsafe { told(pid, libc::PROC_PIDTASKINFO, 0) }
}

/// The kernel's `proc_uniqidentifierinfo`, which is documented as fixed.
#[repr(C)]
struct Unique {
    executable: [u8; 16],
    number: u64,
    parents_number: u64,
    version: i32,
    parents_version: i32,
    reserved: [u64; 2],
}

const PROC_PIDUNIQIDENTIFIERINFO: libc::c_int = 17;

/// Returns the number of a process, which is unique for one boot; `None` if it cannot be read. It stays the same
/// when the process executes a program.
pub(crate) fn unique_number(pid: i32) -> Option<u64> {
    // SAFETY: the structure is the flavour's, of numbers only.
    let found: Option<Unique> = unsafe { told(pid, PROC_PIDUNIQIDENTIFIERINFO, INCLUDE_ZOMBIES) }.ok()?;
    found.map(|unique| unique.number)
}

/// Returns the resources that a process has used; `None` if they may not be read.
pub(crate) fn used(pid: i32) -> Option<libc::rusage_info_v2> {
    let mut place = MaybeUninit::<libc::rusage_info_v2>::zeroed();
    // SAFETY: the place is ours, and of the flavour's structure; all zeroes are a valid value of it.
    let (result, used) = unsafe {
        let result = libc::proc_pid_rusage(pid, libc::RUSAGE_INFO_V2, place.as_mut_ptr().cast());
        (result, place.assume_init())
    };
    (result == 0).then_some(used)
}

/// The processes to list; the numbers are those of `sys/proc_info.h`.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Which {
    All,
    InGroup(i32),
    ChildrenOf(i32),
}

/// Returns the pids of processes, zombies included, as of one moment.
pub(crate) fn list(which: Which) -> io::Result<Vec<i32>> {
    let (kind, about) = match which {
        Which::All => (1, 0),
        Which::InGroup(leader) => (2, leader.cast_unsigned()),
        Which::ChildrenOf(parent) => (6, parent.cast_unsigned()),
    };
    let mut room = 1024;
    loop {
        let mut pids = vec![0i32; room];
        let length = libc::c_int::try_from(room * size_of::<i32>()).map_err(io::Error::other)?;
        // SAFETY: errno is this thread's own.
        unsafe { *libc::__error() = 0 };
        // SAFETY: the list is ours and as long as we say.
        let got = unsafe { libc::proc_listpids(kind, about, pids.as_mut_ptr().cast(), length) };
        let error = io::Error::last_os_error();
        // An empty list and a failure both return zero.
        if got <= 0 && error.raw_os_error() != Some(0) {
            return Err(error);
        }
        let count = usize::try_from(got).unwrap_or(0) / size_of::<i32>();
        if count < room {
            pids.truncate(count);
            return Ok(pids);
        }
        room *= 2;
    }
}

/// Returns the arguments and the environment that a process was executed with, unparsed.
pub(crate) fn arguments(pid: i32) -> io::Result<Vec<u8>> {
    /// The maximum length of arguments and environment, and the count before them.
    const MAX_BYTES: usize = (1 << 20) + size_of::<libc::c_int>();
    let mut name = [libc::CTL_KERN, libc::KERN_PROCARGS2, pid];
    let mut length = 0;
    let mut bytes = Vec::new();
    // The first call asks for the length.
    for place in [false, true] {
        if place {
            bytes = vec![0; length.min(MAX_BYTES)];
            length = bytes.len();
        }
        let into = if place { bytes.as_mut_ptr().cast() } else { std::ptr::null_mut() };
        // SAFETY: the name has three parts and is read only; the place is ours and as long as we say, or null.
        let result =
            unsafe { libc::sysctl(name.as_mut_ptr(), 3, into, &raw mut length, std::ptr::null_mut(), 0) };
        super::check(result.into())?;
    }
    bytes.truncate(length);
    Ok(bytes)
}

/// Returns the path of a process's executable.
pub(crate) fn path(pid: i32) -> Option<Vec<u8>> {
    let mut bytes = vec![0u8; usize::try_from(libc::PROC_PIDPATHINFO_MAXSIZE).ok()?];
    let length = u32::try_from(bytes.len()).ok()?;
    // SAFETY: the place is ours and as long as we say.
    let got = unsafe { libc::proc_pidpath(pid, bytes.as_mut_ptr().cast(), length) };
    bytes.truncate(usize::try_from(got).ok().filter(|&got| got > 0)?);
    Some(bytes)
}

/// Returns a text of the system by its name.
pub(crate) fn text(name: &std::ffi::CStr) -> Option<String> {
    let mut bytes = [0u8; 256];
    let mut length = bytes.len();
    // SAFETY: the name ends with a zero; the place is ours and as long as we say.
    let result = unsafe {
        libc::sysctlbyname(name.as_ptr(), bytes.as_mut_ptr().cast(), &raw mut length, std::ptr::null_mut(), 0)
    };
    let told = bytes.get(..length).filter(|_| result == 0)?;
    let text = told.split(|&byte| byte == 0).next()?;
    std::str::from_utf8(text).ok().filter(|text| !text.is_empty()).map(str::to_owned)
}

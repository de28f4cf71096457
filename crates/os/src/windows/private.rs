//! The owner of a file, and the users who may use it.

use super::{check, own, wide};
use std::io;
use std::os::windows::io::{AsRawHandle, BorrowedHandle};
use std::path::Path;
use std::ptr::null_mut;
use windows_sys::Win32::Foundation::LocalFree;
use windows_sys::Win32::Security::Authorization::{
    ConvertSidToStringSidW, ConvertStringSecurityDescriptorToSecurityDescriptorW, GetNamedSecurityInfoW,
    GetSecurityInfo, SDDL_REVISION_1, SE_FILE_OBJECT, SE_KERNEL_OBJECT,
};
use windows_sys::Win32::Security::{
    ACCESS_ALLOWED_ACE, ACL, DACL_SECURITY_INFORMATION, GetAce, GetTokenInformation, INHERIT_ONLY_ACE,
    OWNER_SECURITY_INFORMATION, PROTECTED_DACL_SECURITY_INFORMATION, PSECURITY_DESCRIPTOR, PSID,
    SECURITY_ATTRIBUTES, SetFileSecurityW, TOKEN_ELEVATION, TOKEN_QUERY, TOKEN_USER, TokenElevation,
    TokenUser,
};
use windows_sys::Win32::System::SystemServices::{ACCESS_ALLOWED_ACE_TYPE, ACCESS_DENIED_ACE_TYPE};
use windows_sys::Win32::System::Threading::{GetCurrentProcess, OpenProcessToken};

/// The group that owns files created with administrator rights.
const ADMINISTRATORS: &str = "S-1-5-32-544";
/// The system itself, and a file's owner: neither counts as another user.
const SYSTEM: &str = "S-1-5-18";
const OWNER: &str = "S-1-3-4";

/// Memory that a call has allocated with the system's own allocator.
struct Local(*mut core::ffi::c_void);

impl Drop for Local {
    fn drop(&mut self) {
        // SAFETY: the call that allocated it says that it is freed like this, and nothing else frees it.
        unsafe { LocalFree(self.0) };
    }
}

/// Access for this user and the system only, without inherited entries.
pub(crate) struct Descriptor(Local);

impl Descriptor {
    pub(crate) fn of_this_user() -> io::Result<Self> {
        Self::parse(&format!("D:P{}", Self::list(&user()?)))
    }

    /// Makes a descriptor that also names this user as the owner, even for files created with administrator rights.
    pub(crate) fn owned_by_this_user() -> io::Result<Self> {
        let user = user()?;
        Self::parse(&format!("O:{user}D:P{}", Self::list(&user)))
    }

    fn list(user: &str) -> String {
        format!("(A;OICI;FA;;;{user})(A;OICI;FA;;;SY)")
    }

    fn parse(text: &str) -> io::Result<Self> {
        let text = wide(text);
        let mut made: PSECURITY_DESCRIPTOR = null_mut();
        // SAFETY: the text ends in a zero; the place is ours.
        check(unsafe {
            ConvertStringSecurityDescriptorToSecurityDescriptorW(
                text.as_ptr(),
                SDDL_REVISION_1,
                &raw mut made,
                null_mut(),
            )
        })?;
        Ok(Self(Local(made)))
    }

    /// Returns attributes for a call that creates something; valid while this lives.
    pub(crate) fn attributes(&self) -> SECURITY_ATTRIBUTES {
        SECURITY_ATTRIBUTES {
            nLength: super::length_of::<SECURITY_ATTRIBUTES>(),
            lpSecurityDescriptor: self.0.0,
            bInheritHandle: 0,
        }
    }
}

/// Returns the id of this process's user.
pub(crate) fn user() -> io::Result<String> {
    // SAFETY: the handle of this process is always open, and needs no closing.
    user_of(unsafe { BorrowedHandle::borrow_raw(GetCurrentProcess()) })
}

/// Returns the id of a process's user.
pub(crate) fn user_of(process: BorrowedHandle<'_>) -> io::Result<String> {
    let mut token = null_mut();
    // SAFETY: the handle is open, and the place is ours.
    check(unsafe { OpenProcessToken(process.as_raw_handle(), TOKEN_QUERY, &raw mut token) })?;
    let token = own(token)?;
    // The structure and the id that it points to, which has at most 68 bytes.
    let mut room = [0_usize; 32];
    let (mut len, place) = (u32::try_from(size_of_val(&room)).unwrap_or(0), room.as_mut_ptr());
    // SAFETY: the room is ours, of the length that is given, aligned for the structure, and written by the call.
    check(unsafe { GetTokenInformation(token.as_raw_handle(), TokenUser, place.cast(), len, &raw mut len) })?;
    // SAFETY: the call has written that structure at the beginning of the room, which is aligned for it.
    let user = unsafe { place.cast::<TOKEN_USER>().read() };
    id_text(user.User.Sid)
}

/// Converts an id to text. It must be one that a call has just returned.
fn id_text(id: PSID) -> io::Result<String> {
    let mut text = null_mut();
    // SAFETY: the caller holds the id's memory; the place is ours.
    check(unsafe { ConvertSidToStringSidW(id, &raw mut text) })?;
    let held = Local(text.cast());
    let units = (0..200).map(|at| {
        // SAFETY: the text ends in a zero, and nothing after that is read.
        unsafe { *text.add(at) }
    });
    let found: Vec<u16> = units.take_while(|&unit| unit != 0).collect();
    drop(held);
    String::from_utf16(&found).map_err(io::Error::other)
}

/// Returns true if this process has administrator rights, and not only could have them.
pub(crate) fn is_elevated() -> io::Result<bool> {
    let mut token = null_mut();
    // SAFETY: the handle of this process is always open, and the place is ours.
    check(unsafe { OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &raw mut token) })?;
    let token = own(token)?;
    let mut elevation = TOKEN_ELEVATION::default();
    let mut len = super::length_of::<TOKEN_ELEVATION>();
    let place = (&raw mut elevation).cast();
    // SAFETY: the structure is ours, of the length that is given, and written by the call.
    check(unsafe { GetTokenInformation(token.as_raw_handle(), TokenElevation, place, len, &raw mut len) })?;
    Ok(elevation.TokenIsElevated != 0)
}

/// Returns true if a file or directory belongs to this user, or was created with administrator rights.
pub(crate) fn is_own(path: &Path) -> io::Result<bool> {
    let owner = owner(path)?;
    Ok(owner == ADMINISTRATORS || owner == user()?)
}

fn owner(path: &Path) -> io::Result<String> {
    let name = wide(path);
    let (mut id, mut all) = (null_mut(), null_mut());
    // SAFETY: the name ends in a zero; both places are ours, and the pointers for unused results are null.
    let failed = unsafe {
        GetNamedSecurityInfoW(
            name.as_ptr(),
            SE_FILE_OBJECT,
            OWNER_SECURITY_INFORMATION,
            &raw mut id,
            null_mut(),
            null_mut(),
            null_mut(),
            &raw mut all,
        )
    };
    if failed != 0 {
        return Err(io::Error::from_raw_os_error(failed.cast_signed()));
    }
    let _all = Local(all);
    id_text(id)
}

/// Returns the id of the user who created the object of a handle.
pub(crate) fn owner_of(handle: BorrowedHandle<'_>) -> io::Result<String> {
    let (mut id, mut all) = (null_mut(), null_mut());
    // SAFETY: the handle is open; both places are ours, and the pointers for unused results are null.
    let failed = unsafe {
        GetSecurityInfo(
            handle.as_raw_handle(),
            SE_KERNEL_OBJECT,
            OWNER_SECURITY_INFORMATION,
            &raw mut id,
            null_mut(),
            null_mut(),
            null_mut(),
            &raw mut all,
        )
    };
    if failed != 0 {
        return Err(io::Error::from_raw_os_error(failed.cast_signed()));
    }
    let _all = Local(all);
    id_text(id)
}

/// Returns true for the id of a user who has full power over this user anyway.
pub(crate) fn is_trusted(id: &str) -> io::Result<bool> {
    Ok(id == SYSTEM || id == ADMINISTRATORS || id == user()?)
}

/// Closes a directory of this user to all others; another user's is refused.
pub(crate) fn claim(path: &Path) -> io::Result<()> {
    let (owner, me) = (owner(path)?, user()?);
    if owner != me && owner != ADMINISTRATORS {
        let why = format!("it belongs to the user {owner}, and this is the user {me}");
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    let (name, alone) = (wide(path), Descriptor::of_this_user()?);
    let what = DACL_SECURITY_INFORMATION | PROTECTED_DACL_SECURITY_INFORMATION;
    // SAFETY: the name ends in a zero, and the descriptor outlives the call.
    check(unsafe { SetFileSecurityW(name.as_ptr(), what, alone.0.0) })
}

/// Returns true if only this user, the system and its administrators may use a file.
pub(crate) fn is_private(path: &Path) -> io::Result<bool> {
    let (name, me) = (wide(path), user()?);
    let (mut list, mut all): (*mut ACL, PSECURITY_DESCRIPTOR) = (null_mut(), null_mut());
    // SAFETY: the name ends in a zero; both places are ours, and the pointers for unused results are null.
    let failed = unsafe {
        GetNamedSecurityInfoW(
            name.as_ptr(),
            SE_FILE_OBJECT,
            DACL_SECURITY_INFORMATION,
            null_mut(),
            null_mut(),
            &raw mut list,
            null_mut(),
            &raw mut all,
        )
    };
    if failed != 0 {
        return Err(io::Error::from_raw_os_error(failed.cast_signed()));
    }
    let _all = Local(all);
    if list.is_null() {
        // Without a list, all users may do everything.
        return Ok(false);
    }
    // SAFETY: the call has returned a list, which lives as long as the memory that it came with.
    let count = unsafe { (*list).AceCount };
    for at in 0..u32::from(count) {
        if let Some(who) = allowed(list, at)?
            && ![me.as_str(), ADMINISTRATORS, SYSTEM, OWNER].contains(&who.as_str())
        {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns the user to whom an entry of a held list allows something; `None` if it allows nothing here.
fn allowed(list: *const ACL, at: u32) -> io::Result<Option<String>> {
    let mut entry = null_mut();
    // SAFETY: the caller holds the list; the place is ours.
    check(unsafe { GetAce(list, at, &raw mut entry) })?;
    let entry = entry.cast::<ACCESS_ALLOWED_ACE>();
    // SAFETY: every entry begins with a header, whatever its kind.
    let header = unsafe { (*entry).Header };
    let here = u32::from(header.AceFlags) & INHERIT_ONLY_ACE == 0;
    match u32::from(header.AceType) {
        ACCESS_DENIED_ACE_TYPE => Ok(None),
        ACCESS_ALLOWED_ACE_TYPE if !here => Ok(None),
        ACCESS_ALLOWED_ACE_TYPE => {
            // SAFETY: an entry of this kind has the id at this place, and only its address is taken.
            id_text(unsafe { (&raw mut (*entry).SidStart).cast() }).map(Some)
        }
        _ => Ok(Some("somebody who is named by a condition".to_owned())),
    }
}

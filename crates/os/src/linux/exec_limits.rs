//! Size limits for a program that is started (`fs/exec.c`).

use rustix::process::{Resource, getrlimit};
use tenure_core::spec::ExecLimits;

/// Minimum limit of arguments and environment together, whatever the stack.
const MIN_BYTES: u64 = 128 << 10;
/// Maximum limit of both: three quarters of the usual stack.
const MAX_BYTES: u64 = 6 << 20;

pub(crate) fn exec_limits() -> ExecLimits {
    let stack = getrlimit(Resource::Stack).current.unwrap_or(u64::MAX);
    let total = (stack / 4).clamp(MIN_BYTES, MAX_BYTES);
    ExecLimits {
        word: 32 * rustix::param::page_size(),
        total: usize::try_from(total).unwrap_or(usize::MAX),
        path: 4096,
    }
}

//! Size limits for a program that is started (`ARG_MAX`, `PATH_MAX`).

use tenure_core::spec::ExecLimits;

pub(crate) fn exec_limits() -> ExecLimits {
    ExecLimits { word: 1 << 20, total: 1 << 20, path: 1024 }
}

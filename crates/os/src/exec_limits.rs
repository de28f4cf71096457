//! The system's size limits for a program that is started. Larger requests are refused before anything is recorded.

use crate::system;
use tenure_core::spec::ExecLimits;

/// Returns the limits for a program that this process, or one that it started, executes now.
pub fn current() -> ExecLimits {
    system::exec_limits()
}

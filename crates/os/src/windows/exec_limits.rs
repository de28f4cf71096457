//! Size limits for a program that is started: a command line, a variable and a path have at most 32,767 UTF-16 units
//! each, which are up to three bytes of text. The exact length of the line is checked where it is joined.

use tenure_core::spec::ExecLimits;

const UNITS: usize = 32_767;

pub(crate) fn exec_limits() -> ExecLimits {
    ExecLimits { word: 3 * UNITS, total: 8 << 20, path: 3 * UNITS }
}

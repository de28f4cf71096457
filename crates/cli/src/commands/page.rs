//! One page of many.

use crate::print;
use tenure_core::visible::shell_line;
use tenure_os::complaint::complain;

/// Says how to see the next page, if there is one.
pub(super) fn more(next: Option<&str>) {
    if let Some(next) = next {
        let next = shell_line([&*print::plain(next)]);
        complain(format!("there is more: the same with --after {next} shows it"));
    }
}

//! Hint for the next page of a list.

use crate::print;
use tenure_core::visible::shell_line;
use tenure_os::stderr::complain;

/// Prints how to get the next page, if there is one.
pub(super) fn print_next_page_hint(next: Option<&str>) {
    if let Some(next) = next {
        let next = shell_line([&*print::plain(next)]);
        complain(format!("there is more: repeat the command with --after {next}"));
    }
}

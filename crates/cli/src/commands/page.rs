//! One page of many.

use super::exec::line::quoted;
use crate::print;
use tenure_os::complaint::complain;

/// Says how to see the next page, if there is one.
pub(super) fn more(next: Option<&str>) {
    if let Some(next) = next {
        complain(format!("there is more: the same with --after {} shows it", quoted(&print::plain(next))));
    }
}

//! The line that text is added to. A carriage return says nothing before it is known what follows.

use serde::{Deserialize, Serialize};

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Line {
    /// Whether there is something in the line.
    begun: bool,
    /// A carriage return came, and nothing since.
    returned: bool,
}

impl Line {
    /// Whether there is something in the line.
    pub(crate) fn is_begun(self) -> bool {
        self.begun
    }

    /// The line ends.
    pub(crate) fn end(&mut self, out: &mut String) {
        out.push('\n');
        *self = Self::default();
    }

    /// A carriage return.
    pub(super) fn turn_back(&mut self) {
        self.returned = self.begun;
    }

    /// Something is about to be added to the line: what a carriage return left behind is a line of its own.
    pub(super) fn before_visible(&mut self, out: &mut String) {
        if std::mem::take(&mut self.returned) {
            out.push('\n');
        }
        self.begun = true;
    }

    /// Adds characters of which all are visible or end a line.
    pub(super) fn add(&mut self, plain: &str, out: &mut String) {
        if !plain.starts_with('\n') {
            self.before_visible(out);
        }
        out.push_str(plain);
        *self = Self { begun: !plain.ends_with('\n'), returned: false };
    }
}

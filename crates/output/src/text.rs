//! The output as text for an agent's tools: the unread part, the beginning, the end, and pages of lines. All of
//! them are parts of one text: both streams in the order of arrival, cleaned (see `clean`), with a line of its own
//! wherever bytes are missing. Its lines are numbered from 0.
//!
//! The text does not depend on the cuts or on the times of reading, with one exception: when more of the output is
//! dropped, the dropped lines are replaced by the one that says so, and those after them move up.
//!
//! These functions read the files and never wait. `over` means that nothing will be added any more: only then is an
//! incomplete character shown. Characters are counted as Unicode scalar values.

mod collected;
mod cursor;
mod head;
mod index;
mod last;
mod page;
mod slice;
mod unread;
mod walk;

pub use cursor::TextCursor;
pub use head::{FromByte, Head, from_byte, head};
pub use index::LineIndex;
pub use last::last;
pub use page::{Ask, Page, page};
pub use unread::{Cut, Unread, unread};

/// Returns the number of line ends in a text.
fn line_ends(text: &str) -> u64 {
    // Sums of one byte, so that the CPU can add many at once.
    let count = |block: &[u8]| block.iter().map(|&byte| u8::from(byte == b'\n')).sum::<u8>();
    text.as_bytes().chunks(255).map(|block| u64::from(count(block))).sum()
}

/// Formats a number with commas.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

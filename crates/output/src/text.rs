//! The output as the text that an agent's tools are given: what is new, the beginning, the end, and pages of lines.
//! All of them are parts of one text: both streams in the order of their arrival, cleaned (see `clean`), with a line
//! of its own wherever bytes are missing. Its lines are numbered from 0.
//!
//! The text does not depend on how the bytes were cut or when they were read, with one exception: when more of the
//! output is dropped, the lines that go are replaced by the one that says so, and those after them move up.
//!
//! Everything here reads the files and waits for nothing. `over` says that nothing will be added any more: only then
//! is a character shown whose end never came. Counts of characters are of Unicode's scalar values.

mod collected;
mod head;
mod index;
mod last;
mod mark;
mod page;
mod slice;
mod unread;
mod walk;

pub use head::{FromByte, Head, from_byte, head};
pub use index::LineIndex;
pub use last::last;
pub use mark::Mark;
pub use page::{Ask, Page, page};
pub use unread::{Cut, Unread, unread};

/// How many lines end in a text.
fn line_ends(text: &str) -> u64 {
    // Small sums, so that a step of the machine takes many bytes at once.
    let count = |block: &[u8]| block.iter().map(|&byte| u8::from(byte == b'\n')).sum::<u8>();
    text.as_bytes().chunks(255).map(|block| u64::from(count(block))).sum()
}

/// A number as people read it.
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

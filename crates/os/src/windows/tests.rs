//! Tests of the system's own reading of our command lines.

use crate::command_line::{join, tests::words};
use proptest::prelude::*;
use windows_sys::Win32::Foundation::LocalFree;
use windows_sys::Win32::UI::Shell::CommandLineToArgvW;

/// Returns the words that the system finds in a line.
fn split(line: &[u16]) -> Vec<Vec<u16>> {
    let line: Vec<u16> = line.iter().copied().chain([0]).collect();
    let mut count = 0;
    // SAFETY: the line ends in a zero, and the count is ours.
    let list = unsafe { CommandLineToArgvW(line.as_ptr(), &raw mut count) };
    assert!(!list.is_null(), "the system takes every line");
    let word = |at: usize| {
        // SAFETY: the list has this many texts, each of which ends in a zero.
        unsafe {
            let text = *list.add(at);
            (0..line.len()).map(|at| *text.add(at)).take_while(|&unit| unit != 0).collect()
        }
    };
    let words = (0..usize::try_from(count).expect("a count")).map(word).collect();
    // SAFETY: the list is one allocation that is freed like this, and nothing uses it any more.
    unsafe { LocalFree(list.cast()) };
    words
}

proptest! {
    #[test]
    fn the_system_finds_the_words_that_went_into_a_line(arguments in words()) {
        let program: Vec<u16> = "C:\\Program Files\\x.exe".encode_utf16().collect();
        let line = join(&program, &arguments).expect("a line");
        let mut expected = vec![program];
        expected.extend(arguments);
        prop_assert_eq!(split(&line), expected);
    }
}

//! Text of tasks: one line, visible, without secrets, and not too long.

use super::text::{last_line, line};
use crate::session::is_unseen;
use proptest::prelude::*;

#[test]
fn a_text_becomes_one_visible_line() {
    for (text, shown) in [
        ("", ""),
        (" a  b\t\nc \r\n", "a b c"),
        ("\u{1b}[1;31mred\u{1b}[0m and \u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{7}", "red and link"),
        ("bell\u{7} and \u{0}nul", "bell and nul"),
        ("\u{1b}[31", ""),
        ("a\u{1b}]never ends\nb", "ab"),
        ("turned \u{202e}around\u{2066}", "turned around"),
        ("zero\u{200b}width", "zerowidth"),
        ("\u{1b}(Bplain", "plain"),
    ] {
        assert_eq!(line(text, 240), shown, "{text:?}");
    }
}

#[test]
fn a_secret_is_not_shown_not_even_a_part_of_it() {
    assert_eq!(line("export API_KEY=sk-12345 done", 240), "export API_KEY=*** done");
    let at_the_cut = format!("{} password=hunter2hunter2", "x".repeat(225));
    assert!(!line(&at_the_cut, 240).contains("hunt"), "{}", line(&at_the_cut, 240));
}

#[test]
fn what_is_too_long_is_cut_and_says_so() {
    assert_eq!(line(&"ä".repeat(240), 240), "ä".repeat(240));
    assert_eq!(line(&"ä".repeat(241), 240), format!("{}…", "ä".repeat(239)));
    let long = line(&"x".repeat(1 << 20), 240);
    assert_eq!((long.chars().count(), long.ends_with('…')), (240, true));
    assert_eq!(line("abcd efgh", 6), "abcd…");
}

#[test]
fn progress_is_the_last_line_that_says_something() {
    assert_eq!(last_line("one\ntwo\n\n \u{1b}[0m\n", 240), "two");
    assert_eq!(last_line("10%\r20%\r30%", 240), "30%");
    assert_eq!(last_line("\n\n", 240), "");
    assert_eq!(last_line("", 240), "");
}

proptest! {
    #[test]
    fn nothing_that_steers_a_terminal_is_ever_shown(text in any::<String>(), most in 1_usize..300) {
        for shown in [line(&text, most), last_line(&text, most)] {
            prop_assert!(!shown.chars().any(|c| is_unseen(c) || c.is_control()), "{shown:?}");
            prop_assert!(shown.chars().count() <= most);
        }
    }
}

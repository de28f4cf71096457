//! Queries of programs, and their answers.

use super::{Run, SIZE};
use crate::screen::{Query, Scanner, Spotted};

/// Every query and its answer on a screen of 20x5 with the cursor at the third column of the second row.
const ALL: [(&str, &str); 24] = [
    ("\x1b[5n", "\x1b[0n"),
    ("\x1b[6n", "\x1b[2;3R"),
    ("\x1b[?6n", "\x1b[?2;3R"),
    ("\x1b[c", "\x1b[?62;22c"),
    ("\x1b[0c", "\x1b[?62;22c"),
    ("\x1b[>c", "\x1b[>0;10;0c"),
    ("\x1b[>0c", "\x1b[>0;10;0c"),
    ("\x1b[>q", concat!("\x1bP>|tenure(", env!("CARGO_PKG_VERSION"), ")\x1b\\")),
    ("\x1b[>0q", concat!("\x1bP>|tenure(", env!("CARGO_PKG_VERSION"), ")\x1b\\")),
    ("\x1b[?25$p", "\x1b[?25;1$y"),
    ("\x1b[?1$p", "\x1b[?1;2$y"),
    ("\x1b[?2026$p", "\x1b[?2026;0$y"),
    ("\x1b[4$p", "\x1b[4;0$y"),
    ("\x1b[?u", "\x1b[?0u"),
    ("\x1b[18t", "\x1b[8;5;20t"),
    ("\x1b[19t", "\x1b[9;5;20t"),
    ("\x1b[14t", "\x1b[4;80;160t"),
    ("\x1b[16t", "\x1b[6;16;8t"),
    ("\x1b]10;?\x07", "\x1b]10;rgb:e5e5/e5e5/e5e5\x07"),
    ("\x1b]10;?\x1b\\", "\x1b]10;rgb:e5e5/e5e5/e5e5\x1b\\"),
    ("\x1b]11;?\x07", "\x1b]11;rgb:0000/0000/0000\x07"),
    ("\x1b]11;?\x1b\\", "\x1b]11;rgb:0000/0000/0000\x1b\\"),
    ("\x1b]12;?\x07", "\x1b]12;rgb:e5e5/e5e5/e5e5\x07"),
    ("\x1b]12;?\x1b\\", "\x1b]12;rgb:e5e5/e5e5/e5e5\x1b\\"),
];

fn answers(run: &Run, from: u64) -> String {
    String::from_utf8(run.open().advance_answering(from).unwrap()).unwrap()
}

#[test]
fn every_question_has_its_answer_and_is_seen_by_the_scanner() {
    for (question, answer) in ALL {
        let run = Run::with(format!("\r\nab{question}and more"));
        assert_eq!(answers(&run, 0), answer, "{question:?}");
        assert!(Scanner::default().sees_query(question.as_bytes()), "{question:?}");
    }
}

#[test]
fn what_is_no_question_has_no_answer() {
    let others = [
        "plain",
        "\x1b[6;1n",
        "\x1b[7n",
        "\x1b[?5n",
        "\x1b[1c",
        "\x1b[>1c",
        "\x1b[>1q",
        "\x1b[2 q",
        "\x1b[u",
        "\x1b[>1u",
        "\x1b[8;5;20t",
        "\x1b[22t",
        "\x1b]10;red\x07",
        "\x1b]4;1;?\x07",
        "\x1b]110;?\x07",
        "\x1b]10;?x\x07",
        "\x1b]10;?\x18",
        "\x1b[6\x18n",
        "\x1bP\x1bX[6n",
        "\x1b[?1;2;3$p",
        "[6n",
        "\x1b]2;\x1b[",
        "\x1b[?25h",
        "\x1b[$6n",
    ];
    for other in others {
        assert_eq!(answers(&Run::with(other), 0), "", "{other:?}");
        assert!(!Scanner::default().sees_query(other.as_bytes()), "{other:?}");
    }
}

#[test]
fn answers_come_in_order_and_as_of_their_byte() {
    let run = Run::with("\x1b[6nabc\x1b[6n\r\n\x1b[?1h\x1b[?1$p\x1b[?1l\x1b[?1$p\x1b[6n");
    assert_eq!(answers(&run, 0), "\x1b[1;1R\x1b[1;4R\x1b[?1;1$y\x1b[?1;2$y\x1b[2;1R");
}

#[test]
fn a_question_cut_anywhere_is_answered_once_by_whoever_has_its_last_byte() {
    for (question, answer) in ALL {
        for cut in 1..question.len() {
            let mut run = Run::with(format!("\r\nab{}", &question[..cut]));
            let mut screen = run.open();
            let from = run.writer.totals().bytes;
            let mut scanner = Scanner::default();
            let before = screen.advance_answering(0).unwrap();
            let seen_before = scanner.sees_query(&question.as_bytes()[..cut]);
            run.write(&question[cut..]);
            // The same screen continues, or a new one replays: both know the queries that were answered already.
            let after = screen.advance_answering(from).unwrap();
            assert_eq!([before, after.clone()].concat(), answer.as_bytes(), "{question:?} {cut}");
            assert_eq!(run.open().advance_answering(from).unwrap(), after, "{question:?} {cut}");
            assert!(seen_before ^ scanner.sees_query(&question.as_bytes()[cut..]), "{question:?} {cut}");
        }
    }
}

#[test]
fn questions_before_the_offset_are_not_answered_again() {
    let run = Run::with("\x1b[5n\x1b[6n");
    assert_eq!(answers(&run, 3), "\x1b[0n\x1b[1;1R");
    assert_eq!(answers(&run, 4), "\x1b[1;1R");
    assert_eq!(answers(&run, 8), "");
}

#[test]
fn the_cursor_behind_the_last_column_is_reported_in_it() {
    let run = Run::with(format!("{}\x1b[6n", "x".repeat(usize::from(SIZE.cols))));
    assert_eq!(answers(&run, 0), "\x1b[1;20R");
}

#[test]
fn the_scanner_is_small_and_knows_the_alternate_screen() {
    assert!(size_of::<Scanner>() <= 24, "{}", size_of::<Scanner>());
    let mut scanner = Scanner::default();
    assert_eq!(scanner.next(b"ab\x1b[?25;1049hcd"), (13, Some(Spotted::Alternate(true))));
    assert_eq!(scanner.next(b"cd"), (2, None));
    assert_eq!(scanner.next(b"\x1b[?47l"), (6, Some(Spotted::Alternate(false))));
    assert_eq!(scanner.next(b"\x1b[6n"), (4, Some(Spotted::Query(Query::Cursor { private: false }))));
    assert!(scanner.is_at_rest());
}

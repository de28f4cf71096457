//! Checkpoints: output is never replayed twice.

use super::{Run, SIZE};
use crate::screen::checkpoint::Checkpoint;
use tenure_core::record;
use tenure_core::spec::Size;

const MIB: u64 = 1 << 20;

/// Writes lines until the output is this long.
fn fill(run: &mut Run, bytes: u64) {
    let lines: String = (0..2000).map(|n| format!("line \x1b[3{}m{n}\x1b[m\r\n", n % 8)).collect();
    while run.writer.totals().bytes < bytes {
        run.write(&lines);
    }
}

#[test]
fn a_long_output_is_replayed_once() {
    let mut run = Run::new();
    fill(&mut run, 6 * MIB);
    let first = run.screen();
    assert_eq!(first.replayed(), run.writer.totals().bytes);
    let again = run.screen();
    assert!(again.replayed() < 3 * MIB, "{}", again.replayed());
    assert_eq!((again.view(), again.restore()), (first.view(), first.restore()));
}

#[test]
fn a_short_output_needs_no_checkpoint() {
    let mut run = Run::new();
    fill(&mut run, MIB);
    run.screen();
    assert!(!run.checkpoint().exists());
}

#[test]
fn an_output_that_ends_inside_a_sequence_is_kept_up_to_there() {
    let mut run = Run::new();
    fill(&mut run, 6 * MIB);
    run.write("\x1b]2;unfinished");
    run.screen();
    run.write(" title\x07");
    let again = run.screen();
    assert!(again.replayed() < 3 * MIB, "{}", again.replayed());
    assert_eq!(again.view().title, "unfinished title");
}

/// The states that a checkpoint must carry: the bytes that lead there, and bytes whose effect depends on it.
const STATES: [(&str, &str); 12] = [
    ("plain text", "more"),
    ("\x1b[1;3;31;44mcoloured", " more"),
    ("01234567890123456789", "wrapped"),
    ("main\x1b[?1049h\x1b[Halternate\x1b[2;2H", "x\x1b[?1049lback"),
    ("main\x1b7\x1b[?47h\x1b[3;3Hother", "x\x1b[?47lback\x1b8saved"),
    ("\x1b[3;7H\x1b[32m\x1b7\x1b[m\x1b[H", "\x1b8green at seven"),
    ("\x1b[2;4r\x1b[4;1Hbottom", "\r\nscrolls\r\nwithin"),
    ("\x1b[2;4r\x1b[?6h\x1b[2;2H", "x\x1b[Htop of the region"),
    ("\x1b[?1h\x1b=\x1b[?2004h\x1b[?1002;1006h\x1b[?25l\x1b[5 q", "x"),
    ("\x1b]2;a title\x07\x1b[?1004h\x1b[>3u\x1b[>1u", "\x1b[<ux"),
    ("\u{4f60}\u{597d} e\u{301} \u{1f600}", "\u{4f60}"),
    ("01234567890123456789\r\n\x1b[41m\x1b[K\x1b[m", "\x1b[A\x1b[3Px"),
];

#[test]
fn every_state_comes_back_from_a_checkpoint() {
    for (state, probe) in STATES {
        let mut run = Run::with(format!("before\r\n{state}"));
        let mut whole = run.screen();
        whole.snapshot().write(&run.checkpoint());
        let mut restored = run.screen();
        assert_eq!(restored.replayed(), 0);
        assert_eq!((restored.view(), restored.modes()), (whole.view(), whole.modes()), "{state:?}");
        assert_eq!(restored.restore(), whole.restore(), "{state:?}");
        run.write(probe);
        whole.advance().unwrap();
        restored.advance().unwrap();
        assert_eq!((restored.view(), restored.modes()), (whole.view(), whole.modes()), "{state:?} {probe:?}");
        assert_eq!(restored.restore(), whole.restore(), "{state:?} {probe:?}");
    }
}

#[test]
fn one_who_attaches_sees_what_the_program_shows() {
    for (state, probe) in STATES {
        let run = Run::with(format!("before\r\n{state}"));
        // The person's terminal already shows something.
        let mut theirs = vt100::Parser::new(SIZE.rows.try_into().unwrap(), SIZE.cols.try_into().unwrap(), 0);
        theirs.process(b"\x1b[31mtheirs\r\n\x1b[?1h");
        theirs.process(&run.screen().restore());
        let mut program = vt100::Parser::new(SIZE.rows.try_into().unwrap(), SIZE.cols.try_into().unwrap(), 0);
        program.process(format!("before\r\n{state}").as_bytes());
        for step in ["", probe] {
            theirs.process(step.as_bytes());
            program.process(step.as_bytes());
            assert_eq!(
                theirs.screen().contents_formatted(),
                program.screen().contents_formatted(),
                "{state:?}"
            );
            assert_eq!(theirs.screen().input_mode_formatted(), program.screen().input_mode_formatted());
            assert_eq!(theirs.screen().alternate_screen(), program.screen().alternate_screen());
        }
    }
}

#[test]
fn a_torn_a_newer_and_a_foreign_checkpoint_are_ignored() {
    let mut run = Run::with("true");
    let good = record::encode(&Checkpoint { offset: 4, size: SIZE, state: "false".into() });
    std::fs::write(run.checkpoint(), &good).unwrap();
    assert_eq!(run.screen().view().lines[0], "false", "a good one is used");
    let line = br#"{"version":999,"offset":4,"size":{"cols":20,"rows":5},"state":"false"}"#;
    let newer = [line, format!("\n{:016x}\n", tenure_core::hash::fnv64(line)).as_bytes()].concat();
    let beyond = record::encode(&Checkpoint { offset: 5, size: SIZE, state: "false".into() });
    let other = record::encode(&serde_json::json!({"runId": "x"}));
    for bad in [&good[..good.len() - 1], &good[1..], &newer, &beyond, &other, b"", b"\0\xff"] {
        std::fs::write(run.checkpoint(), bad).unwrap();
        assert_eq!(run.screen().view().lines[0], "true", "{:?}", String::from_utf8_lossy(bad));
    }
    // The next checkpoint replaces it.
    fill(&mut run, 3 * MIB);
    run.screen();
    assert!(run.screen().replayed() < MIB * 2);
}

#[test]
fn a_size_that_came_at_the_checkpoints_offset_or_later_still_comes() {
    let mut run = Run::with("ab");
    run.writer.resized(Size { cols: 9, rows: 3 });
    run.write("cd");
    run.writer.resized(Size { cols: 8, rows: 2 });
    for (offset, size) in [(4, Size { cols: 9, rows: 3 }), (2, SIZE), (2, Size { cols: 9, rows: 3 })] {
        Checkpoint { offset, size, state: "x".into() }.write(&run.checkpoint());
        assert_eq!(run.screen().view().size, Size { cols: 8, rows: 2 }, "{offset} {size:?}");
    }
    Checkpoint { offset: 4, size: Size { cols: 7, rows: 7 }, state: "x".into() }.write(&run.checkpoint());
    let mut screen = run.open();
    assert_eq!(screen.view().size, Size { cols: 7, rows: 7 });
    screen.advance().unwrap();
    assert_eq!(screen.view().size, Size { cols: 8, rows: 2 });
}

#[test]
fn a_checkpoint_that_cannot_be_written_costs_nothing_but_time() {
    let mut run = Run::new();
    fill(&mut run, 3 * MIB);
    std::fs::create_dir(run.checkpoint()).unwrap();
    assert_eq!(run.screen().view().lines.len(), 5);
    let left: Vec<_> =
        std::fs::read_dir(run.dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "no draft is left: {left:?}");
}

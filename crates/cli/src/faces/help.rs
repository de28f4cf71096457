//! Snapshots of the help of every verb, `-h` and `--help`.

use super::album;
use crate::args;
use clap::error::ErrorKind;
use tenure_snapshots::Album;

/// Width that clap uses if the output is no terminal.
const WIDTH: usize = 100;

#[test]
fn the_help_of_every_verb_matches_its_snapshot() {
    let mut album = album("help");
    verb(&mut album, &["tenure"], &args::definition());
    album.close();
}

/// Compares the help of a verb, and of those below it.
fn verb(album: &mut Album, words: &[&str], command: &clap::Command) {
    let (short, long) = (help(words, "-h"), help(words, "--help"));
    let long = if long == short { "(the same)" } else { &long };
    album.check(&words.join("-"), &format!("=== -h ===\n{short}\n=== --help ===\n{long}"));
    for below in command.get_subcommands() {
        verb(album, &[words, &[below.get_name()]].concat(), below);
    }
}

fn help(words: &[&str], flag: &str) -> String {
    let parser = args::definition().term_width(WIDTH);
    let error = parser.try_get_matches_from([words, &[flag]].concat()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DisplayHelp, "{words:?} {flag}: {error}");
    error.render().to_string()
}

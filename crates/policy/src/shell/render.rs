//! Renders an analysed line for `/bin/sh`: every program by its absolute path, every word in single quotes, so that
//! the shell interprets only the analysed operators.

use super::{Analysis, Join};
use std::path::{Path, PathBuf};

/// The reason why a line cannot be rendered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unrenderable {
    /// The number of programs differs from that of commands.
    #[error(
        "{segments} commands need as many programs, not {programs}; this is a mistake in Tenure, report it"
    )]
    Count {
        /// The number of commands.
        segments: usize,
        /// The number of programs.
        programs: usize,
    },
    /// A program has a relative path, so its meaning would depend on the working directory.
    #[error("{path:?} is not absolute; resolve the program first")]
    Relative {
        /// The program.
        path: PathBuf,
    },
    /// A path is not UTF-8, or contains a NUL.
    #[error("{path:?} is not text, so no command line can name it; rename the program")]
    NotText {
        /// The program.
        path: PathBuf,
    },
}

/// Renders `analysis` with `programs` in place of its first words, in their order.
pub fn render(analysis: &Analysis, programs: &[PathBuf]) -> Result<String, Unrenderable> {
    let segments = analysis.segments();
    if segments.len() != programs.len() {
        return Err(Unrenderable::Count { segments: segments.len(), programs: programs.len() });
    }
    let mut line = String::new();
    for (at, (segment, program)) in segments.iter().zip(programs).enumerate() {
        if at > 0 {
            line.push_str(operator(analysis.joins()[at - 1]));
        }
        line.push_str(&quote(text(program)?));
        for argument in &segment.argv()[1..] {
            line.push(' ');
            line.push_str(&quote(argument));
        }
    }
    Ok(line)
}

/// Puts a word in single quotes, as any shell reads it.
pub fn quote(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

fn operator(join: Join) -> &'static str {
    match join {
        Join::Then => "; ",
        Join::Newline => "\n",
        Join::And => " && ",
        Join::Or => " || ",
        Join::Pipe => " | ",
    }
}

fn text(program: &Path) -> Result<&str, Unrenderable> {
    if !program.is_absolute() {
        return Err(Unrenderable::Relative { path: program.to_owned() });
    }
    let text = program.to_str().filter(|text| !text.contains('\0'));
    text.ok_or_else(|| Unrenderable::NotText { path: program.to_owned() })
}

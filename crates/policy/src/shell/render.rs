//! An analysed line for `/bin/sh`: every program by its absolute path, every word in single quotes, so that nothing is left
//! for the shell to interpret but the operators that were analysed.

use super::{Analysis, Join};
use std::path::{Path, PathBuf};

/// A line that cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unrenderable {
    /// Not one program for each command.
    #[error(
        "{segments} commands need as many programs, not {programs}; this is a mistake in Tenure, report it"
    )]
    Count {
        /// How many commands there are.
        segments: usize,
        /// How many programs were given.
        programs: usize,
    },
    /// Not where a program is, without regard to where the shell starts.
    #[error("{path:?} is no absolute path; resolve the program first")]
    Relative {
        /// The program.
        path: PathBuf,
    },
    /// Not text, or text with a NUL.
    #[error("{path:?} is not text, so no command line can name it; rename the program")]
    NotText {
        /// The program.
        path: PathBuf,
    },
}

/// Writes `analysis` with `programs` in the place of its first words, in their order.
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

/// A word in single quotes, as any shell reads it.
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

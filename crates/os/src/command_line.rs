//! Joins a list of words to the one line with which Windows starts a program. Every program splits its line by
//! itself; the rules here are those of Microsoft's C library, which nearly all programs follow. The code is the
//! same on every system, so its tests run on every system.

/// The longest line that Windows accepts, its closing zero included.
const LONGEST: usize = 32_767;

const QUOTE: u16 = b'"' as u16;
const BACKSLASH: u16 = b'\\' as u16;
const SPACE: u16 = b' ' as u16;

/// The reason why words cannot be joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// A word contains a zero, which would end the line.
    #[error("a word of the command has a NUL in it, which Windows cannot pass on")]
    Nul,
    /// The program's name contains a quote, which no file's name can.
    #[error("the program's name has a quote in it")]
    QuotedProgram,
    /// The line is too long.
    #[error("its arguments are too long for this system: {0} of at most 32766 characters")]
    TooLong(usize),
    /// The program is a batch file: the command interpreter reads its line by rules of its own, which no quoting
    /// satisfies.
    #[error(
        "batch files are not started directly, because no quoting keeps their arguments apart: say cmd.exe /c"
    )]
    Batch,
}

/// Joins a program and its arguments to a line without a closing zero.
pub fn join(program: &[u16], arguments: &[Vec<u16>]) -> Result<Vec<u16>, Refused> {
    if program.contains(&0) || arguments.iter().any(|word| word.contains(&0)) {
        return Err(Refused::Nul);
    }
    if program.contains(&QUOTE) {
        return Err(Refused::QuotedProgram);
    }
    if is_batch(program) {
        return Err(Refused::Batch);
    }
    // The first word has rules of its own: it ends at the next quote, and a backslash is literal.
    let mut line = vec![QUOTE];
    line.extend_from_slice(program);
    line.push(QUOTE);
    let shell = is_line_for_cmd(program, arguments);
    for (at, word) in arguments.iter().enumerate() {
        line.push(SPACE);
        if shell && at + 1 == arguments.len() {
            // The interpreter removes the outermost quotes and reads the rest by its own rules, unchanged.
            line.push(QUOTE);
            line.extend_from_slice(word);
            line.push(QUOTE);
        } else {
            push_word(&mut line, word);
        }
    }
    if line.len() < LONGEST { Ok(line) } else { Err(Refused::TooLong(line.len())) }
}

/// Returns true for the command interpreter with one line to run: `cmd /d /s /c LINE`.
fn is_line_for_cmd(program: &[u16], arguments: &[Vec<u16>]) -> bool {
    let name = String::from_utf16_lossy(program).to_lowercase();
    let name = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let [flags @ .., _] = arguments else { return false };
    let flags = flags.iter().map(|flag| String::from_utf16_lossy(flag).to_lowercase());
    matches!(name, "cmd" | "cmd.exe") && flags.eq(["/d", "/s", "/c"])
}

/// Returns true if Windows would pass a file of this name to its command interpreter. Windows drops dots and spaces
/// at the end of a name, and so does this; the part after a colon names a stream of the file.
pub fn is_batch(program: &[u16]) -> bool {
    let text = String::from_utf16_lossy(program).to_lowercase();
    let name = text.rsplit(['/', '\\']).next().unwrap_or_default();
    name.split(':').any(|part| {
        let part = part.trim_end_matches(['.', ' ']);
        [".bat", ".cmd"].iter().any(|ending| part.ends_with(ending))
    })
}

/// Appends a quoted word. Backslashes are doubled only before a quote, and before the quote that closes the word.
fn push_word(line: &mut Vec<u16>, word: &[u16]) {
    if !needs_quotes(word) {
        line.extend_from_slice(word);
        return;
    }
    line.push(QUOTE);
    let mut backslashes = 0;
    for &unit in word {
        if unit == QUOTE {
            line.extend(std::iter::repeat_n(BACKSLASH, backslashes + 1));
        }
        backslashes = if unit == BACKSLASH { backslashes + 1 } else { 0 };
        line.push(unit);
    }
    line.extend(std::iter::repeat_n(BACKSLASH, backslashes));
    line.push(QUOTE);
}

fn needs_quotes(word: &[u16]) -> bool {
    let splits = |unit: &u16| *unit == QUOTE || *unit == SPACE || (9..=13).contains(unit);
    word.is_empty() || word.iter().any(splits)
}

#[cfg(test)]
pub(crate) mod tests;

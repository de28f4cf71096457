//! Line-by-line differences between two texts.

use similar::{Algorithm, ChangeTag, DiffOp, capture_diff_slices, group_diff_ops};

/// Number of unchanged lines shown around a change.
const AROUND: usize = 2;
/// Maximum number of line pairs to compare: beyond that, all lines are shown as removed and added.
const PAIRS: usize = 250_000;

/// A line of a diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line<'a> {
    /// An unchanged line.
    Same(&'a str),
    /// A removed line.
    Gone(&'a str),
    /// An added line.
    Come(&'a str),
    /// Number of unchanged lines that are left out.
    Skipped(usize),
}

/// Returns the differences between two texts. Unchanged lines that are far from any change are left out.
pub fn between<'a>(old: &'a str, new: &'a str) -> Vec<Line<'a>> {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let mut all = Vec::new();
    let mut shown = 0;
    let skip = |all: &mut Vec<Line<'a>>, count| all.extend((count > 0).then_some(Line::Skipped(count)));
    for group in group_diff_ops(compare(&old, &new), AROUND) {
        skip(&mut all, group.first().map_or(0, |op| op.old_range().start - shown));
        for op in &group {
            all.extend(op.iter_changes(&old, &new).map(|change| match change.tag() {
                ChangeTag::Equal => Line::Same(change.value()),
                ChangeTag::Delete => Line::Gone(change.value()),
                ChangeTag::Insert => Line::Come(change.value()),
            }));
            shown = op.old_range().end;
        }
    }
    skip(&mut all, old.len() - shown);
    all
}

fn compare(old: &[&str], new: &[&str]) -> Vec<DiffOp> {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let tail = old[head..].iter().rev().zip(new[head..].iter().rev()).take_while(|(a, b)| a == b).count();
    let (old_len, new_len) = (old.len() - head - tail, new.len() - head - tail);
    if old_len.saturating_mul(new_len) <= PAIRS {
        return capture_diff_slices(Algorithm::Myers, old, new);
    }
    let same = |old_index, new_index, len| DiffOp::Equal { old_index, new_index, len };
    let all = [
        same(0, 0, head),
        DiffOp::Replace { old_index: head, old_len, new_index: head, new_len },
        same(head + old_len, head + new_len, tail),
    ];
    all.into_iter().filter(|op| !op.old_range().is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::Line::{Come, Gone, Same, Skipped};
    use super::*;

    #[test]
    fn only_what_changes_is_shown_with_a_little_around_it() {
        let old = "a\nb\nc\nd\ne\nf\ng\n";
        let new = "a\nb\nc\nd\nE\nf\ng\n";
        let expected = [Skipped(2), Same("c"), Same("d"), Gone("e"), Come("E"), Same("f"), Same("g")];
        assert_eq!(between(old, new), expected);
        assert_eq!(between("", "x\ny"), [Come("x"), Come("y")]);
        assert_eq!(between("x", ""), [Gone("x")]);
        assert_eq!(between("a\nb", "a\nb"), [Skipped(2)]);
        assert_eq!(between("a\nx\nb", "x\nb\na"), [Gone("a"), Same("x"), Same("b"), Come("a")]);
    }

    #[test]
    fn very_long_texts_are_not_compared_line_by_line() {
        let text = |line: &str| format!("head\n{}tail", format!("{line}\n").repeat(600));
        let (old, new) = (text("a"), text("b"));
        let lines = between(&old, &new);
        assert_eq!((lines.len(), &lines[0], &lines[1]), (1202, &Same("head"), &Gone("a")));
        assert_eq!((&lines[601], &lines[1201]), (&Come("b"), &Same("tail")));
    }
}

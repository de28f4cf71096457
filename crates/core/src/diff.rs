//! Line-by-line differences between two texts.

/// Number of unchanged lines shown around a change.
const AROUND: usize = 2;
/// Maximum number of line pairs to compare: beyond that, all of it is new.
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

/// Returns the differences between two texts.
pub fn between<'a>(old: &'a str, new: &'a str) -> Vec<Line<'a>> {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let tail = old[head..].iter().rev().zip(new[head..].iter().rev()).take_while(|(a, b)| a == b).count();
    let (a, b) = (&old[head..old.len() - tail], &new[head..new.len() - tail]);
    let mut all: Vec<Line<'a>> = old[..head].iter().map(|line| Line::Same(line)).collect();
    middle(a, b, &mut all);
    all.extend(old[old.len() - tail..].iter().map(|line| Line::Same(line)));
    shortened(&all)
}

/// Compares lines; the longest common part stays.
fn middle<'a>(a: &[&'a str], b: &[&'a str], all: &mut Vec<Line<'a>>) {
    if a.len().saturating_mul(b.len()) > PAIRS {
        all.extend(a.iter().map(|line| Line::Gone(line)));
        all.extend(b.iter().map(|line| Line::Come(line)));
        return;
    }
    let width = b.len() + 1;
    let mut common = vec![0_u32; (a.len() + 1) * width];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            common[i * width + j] = if a[i] == b[j] {
                common[(i + 1) * width + j + 1] + 1
            } else {
                common[(i + 1) * width + j].max(common[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        if i < a.len() && j < b.len() && a[i] == b[j] {
            all.push(Line::Same(a[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == b.len() || i < a.len() && common[(i + 1) * width + j] >= common[i * width + j + 1] {
            all.push(Line::Gone(a[i]));
            i += 1;
        } else {
            all.push(Line::Come(b[j]));
            j += 1;
        }
    }
}

/// Leaves out unchanged lines that are far from any change.
fn shortened<'a>(all: &[Line<'a>]) -> Vec<Line<'a>> {
    let is_same = |line: &Line<'_>| matches!(line, Line::Same(_));
    let near = |at: usize| {
        let around = at.saturating_sub(AROUND)..(at + AROUND + 1).min(all.len());
        all[around].iter().any(|line| !is_same(line))
    };
    let mut short = Vec::new();
    for (at, line) in all.iter().enumerate() {
        match short.last_mut() {
            _ if near(at) => short.push(line.clone()),
            Some(Line::Skipped(count)) => *count += 1,
            _ => short.push(Line::Skipped(1)),
        }
    }
    short
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
        let (old, new) = ("a\n".repeat(600), "b\n".repeat(600));
        let lines = between(&old, &new);
        assert_eq!((lines.len(), &lines[0], &lines[600]), (1200, &Gone("a"), &Come("b")));
    }
}

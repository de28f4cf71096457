//! Compares two readings of a line: without agreement there is no analysis.

use super::parse::{Reading, Unread};
use super::{Analysis, Unanalysable, Why};

/// Returns the common reading, or the position of the first difference.
pub(super) fn agreed(first: Analysis, second: Result<Reading, Unread>) -> Result<Analysis, Unanalysable> {
    let parted = match second {
        Ok(reading) => parted(&first, &reading),
        Err(Unread { at }) => Some(at),
    };
    match parted {
        Some(at) => Err(Unanalysable { at, why: Why::TwoReadings }),
        None => Ok(first),
    }
}

/// Returns the position where the parser's reading differs.
fn parted(first: &Analysis, second: &Reading) -> Option<usize> {
    let mut commands = second.commands.iter();
    for segment in first.segments() {
        let Some(command) = commands.next() else { return Some(second.end) };
        let mut words = command.iter();
        for text in segment.argv() {
            match words.next() {
                Some(word) if word.text == *text => {}
                Some(word) => return Some(word.at),
                None => return Some(command.last().map_or(second.end, |word| word.at)),
            }
        }
        if let Some(word) = words.next() {
            return Some(word.at);
        }
    }
    if let Some(command) = commands.next() {
        return Some(command.first().map_or(second.end, |word| word.at));
    }
    if first.joins() == second.joins {
        return None;
    }
    let same = first.joins().iter().zip(&second.joins).take_while(|(one, other)| one == other).count();
    Some(second.commands.get(same + 1).and_then(|command| command.first()).map_or(second.end, |word| word.at))
}

#[cfg(test)]
mod tests {
    use super::super::parse::Word;
    use super::super::{Join, Segment};
    use super::*;

    type Commands<'a> = &'a [&'a [&'a str]];

    fn analysis(commands: Commands, joins: &[Join]) -> Analysis {
        let segment = |words: &&[&str]| Segment { argv: words.iter().map(|&word| word.to_owned()).collect() };
        Analysis { segments: commands.iter().map(segment).collect(), joins: joins.to_vec() }
    }

    /// Makes a reading in which the n-th word is at byte n.
    fn reading(commands: Commands, joins: &[Join]) -> Reading {
        let mut at = 0..;
        let mut word = |&text: &&str| Word { at: at.next().unwrap(), text: text.to_owned() };
        let commands = commands.iter().map(|words| words.iter().map(&mut word).collect()).collect();
        Reading { commands, joins: joins.to_vec(), end: 99 }
    }

    #[test]
    fn the_same_reading_twice_is_an_analysis() {
        let (words, joins): (Commands, _) = (&[&["a", "b c"], &["d"]], [Join::Pipe]);
        let first = analysis(words, &joins);
        assert_eq!(agreed(first.clone(), Ok(reading(words, &joins))), Ok(first));
    }

    #[test]
    fn any_difference_is_no_analysis_and_says_where() {
        let first = analysis(&[&["a", "b"], &["c"]], &[Join::And]);
        let table: &[(Commands, &[Join], usize)] = &[
            (&[&["x", "b"], &["c"]], &[Join::And], 0),
            (&[&["a", "x"], &["c"]], &[Join::And], 1),
            (&[&["a", "b"], &["x"]], &[Join::And], 2),
            (&[&["a", "b", "x"], &["c"]], &[Join::And], 2),
            (&[&["a"], &["c"]], &[Join::And], 0),
            (&[&["a", "b"], &["c", "x"]], &[Join::And], 3),
            (&[&["a", "b"], &["c"], &["x"]], &[Join::And, Join::And], 3),
            (&[&["a", "b"]], &[], 99),
            (&[], &[], 99),
            (&[&["a"], &["b", "c"]], &[Join::And], 0),
            (&[&["a", "b"], &["c"]], &[Join::Or], 2),
            (&[&["a", "b"], &["c"]], &[Join::Then], 2),
            (&[&["a", "b"], &["c"]], &[], 2),
            (&[&["a", "b"], &["c"]], &[Join::And, Join::Then], 99),
        ];
        for (commands, joins, at) in table {
            let refusal = agreed(first.clone(), Ok(reading(commands, joins)));
            assert_eq!(
                refusal,
                Err(Unanalysable { at: *at, why: Why::TwoReadings }),
                "{commands:?} {joins:?}"
            );
        }
        let unread = agreed(first, Err(Unread { at: 7 }));
        assert_eq!(unread, Err(Unanalysable { at: 7, why: Why::TwoReadings }));
    }
}

//! Characters that show nothing themselves: Unicode's category Cf ("format"), as of version 17, and the rest of the
//! block of tags. They reorder or join what others read, or carry text that only a machine sees.

/// The first and last of each range, in order.
const RANGES: [(char, char); 19] = [
    ('\u{ad}', '\u{ad}'),
    ('\u{600}', '\u{605}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{6dd}', '\u{6dd}'),
    ('\u{70f}', '\u{70f}'),
    ('\u{890}', '\u{891}'),
    ('\u{8e2}', '\u{8e2}'),
    ('\u{180e}', '\u{180e}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{202a}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{fff9}', '\u{fffb}'),
    ('\u{110bd}', '\u{110bd}'),
    ('\u{110cd}', '\u{110cd}'),
    ('\u{13430}', '\u{1343f}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    // Tags, and the variation selectors beside them, which have been used to hide text in text.
    ('\u{e0000}', '\u{e0fff}'),
];

/// Whether a character shows nothing.
pub(super) fn is_invisible(c: char) -> bool {
    // Nearly all text ends here.
    c >= RANGES[0].0 && {
        let at = RANGES.partition_point(|&(_, last)| last < c);
        RANGES.get(at).is_some_and(|&(first, _)| first <= c)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ranges_are_in_order() {
        assert!(RANGES.iter().all(|(first, last)| first <= last));
        assert!(RANGES.windows(2).all(|pair| pair[0].1 < pair[1].0));
    }

    #[test]
    fn what_people_read_is_visible() {
        for c in ['a', 'é', 'ß', '中', 'ا', '🎉', '\u{ac}', '\u{ae}', '\u{2028}', '\u{fffd}'] {
            assert!(!is_invisible(c), "{c:?}");
        }
        for c in ['\u{ad}', '\u{200b}', '\u{202e}', '\u{2066}', '\u{feff}', '\u{e0041}', '\u{e0100}'] {
            assert!(is_invisible(c), "{c:?}");
        }
    }
}

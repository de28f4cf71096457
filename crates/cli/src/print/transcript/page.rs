//! Layout of a transcript: streams, line ends, and empty lines between sections.

use super::{OutputStream, TranscriptOptions};
use crate::print::Tone;
use tenure_output::Cleaner;

/// Line ends that separate sections. An empty page counts as already separated.
const SPACE: usize = 2;

/// The kind of the last shown text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    Nothing,
    Agent,
    Thought,
    User,
    Lines,
}

impl Section {
    fn is_text(self) -> bool {
        matches!(self, Section::Agent | Section::Thought | Section::User)
    }
}

/// Text to print, and the end of the text before it.
pub(super) struct Page {
    pub(super) options: TranscriptOptions,
    pub(super) out: Vec<(OutputStream, String)>,
    section: Section,
    /// Trailing line ends of standard output and of standard error.
    ends: [usize; 2],
    /// True if part of the answer was shown.
    pub(super) answered: bool,
    /// The cleaner of the current text.
    cleaner: Cleaner,
    /// Number of lines at the end that change in place.
    changing: usize,
    /// Trailing line ends above them.
    above: usize,
}

impl Page {
    pub(super) fn new(options: TranscriptOptions) -> Self {
        Self {
            options,
            out: Vec::new(),
            section: Section::Nothing,
            ends: [SPACE; 2],
            answered: false,
            cleaner: Cleaner::new(),
            changing: 0,
            above: 0,
        }
    }

    /// Returns the stream for everything but the answer.
    fn aside_stream(&self) -> OutputStream {
        if self.options.split { OutputStream::Stderr } else { OutputStream::Stdout }
    }

    /// Adds more of a text.
    pub(super) fn text(&mut self, section: Section, text: &str) {
        self.clear_changing();
        self.begin(section);
        self.answered |= section == Section::Agent;
        if self.options.split && section == Section::Agent {
            return self.put(OutputStream::Stdout, text);
        }
        let mut clean = String::new();
        self.cleaner.push(text.as_bytes(), &mut clean);
        self.clean(section, &clean);
    }

    /// Adds more of a cleaned text.
    fn clean(&mut self, section: Section, clean: &str) {
        let tone = match section {
            Section::Thought => Tone::Dim,
            Section::User => Tone::Title,
            Section::Agent | Section::Lines | Section::Nothing => Tone::Plain,
        };
        let stream = if section == Section::Agent { OutputStream::Stdout } else { self.aside_stream() };
        for part in clean.split_inclusive('\n') {
            let begins = section == Section::User && self.ends[stream as usize] > 0;
            let (text, end) = part.strip_suffix('\n').map_or((part, ""), |text| (text, "\n"));
            let painted = if text.is_empty() { String::new() } else { self.options.style.paint(tone, text) };
            self.put(stream, &format!("{}{painted}{end}", if begins { "> " } else { "" }));
        }
    }

    /// Adds whole lines.
    pub(super) fn lines(&mut self, lines: &[String]) {
        self.clear_changing();
        self.begin(Section::Lines);
        let stream = self.aside_stream();
        self.end_line(stream);
        lines.iter().for_each(|line| self.put(stream, &format!("{line}\n")));
    }

    /// Adds a line. If standard error is separate, the answer on standard output is not interrupted.
    pub(super) fn aside(&mut self, tone: Tone, text: &str) {
        if self.options.split {
            self.end_line(OutputStream::Stderr);
            return self.put(OutputStream::Stderr, &format!("{text}\n"));
        }
        let line = self.options.style.paint(tone, text);
        self.lines(&[line]);
    }

    /// Adds a prompt, whose line the person ends.
    pub(super) fn ask(&mut self, text: &str) {
        self.clear_changing();
        self.begin(Section::Lines);
        let stream = self.aside_stream();
        self.end_line(stream);
        self.put(stream, text);
    }

    /// Records that the person ended the prompt's line.
    pub(super) fn typed(&mut self) {
        let stream = self.aside_stream();
        self.ends[stream as usize] = 1;
        self.changing = 0;
    }

    /// Returns true if lines that change in place are shown.
    pub(super) fn is_changing(&self) -> bool {
        self.changing > 0
    }

    /// Shows lines at the end that change in place.
    pub(super) fn show_changing(&mut self, lines: &[String]) {
        if !lines.is_empty() {
            self.lines(&[]);
            self.above = self.ends[OutputStream::Stdout as usize];
            self.lines(lines);
            self.changing = lines.len();
        }
    }

    /// Erases the lines that change in place.
    pub(super) fn clear_changing(&mut self) {
        if self.changing > 0 {
            let up = format!("\x1b[{}A\x1b[J", self.changing);
            self.changing = 0;
            self.put(OutputStream::Stdout, &up);
            self.ends[OutputStream::Stdout as usize] = self.above;
        }
    }

    /// Ends the page.
    pub(super) fn settle(&mut self) {
        self.clear_changing();
        self.end_text();
        self.end_line(OutputStream::Stdout);
        self.end_line(OutputStream::Stderr);
    }

    /// Ends the current text with the bytes that the cleaner holds back.
    fn end_text(&mut self) {
        let mut clean = String::new();
        std::mem::take(&mut self.cleaner).finish(&mut clean);
        if self.section.is_text() {
            self.clean(self.section, &clean);
        }
    }

    /// Separates the next turn.
    pub(super) fn part(&mut self) {
        self.clear_changing();
        self.begin(Section::Lines);
    }

    fn begin(&mut self, section: Section) {
        if section == self.section {
            return;
        }
        self.end_text();
        let before = std::mem::replace(&mut self.section, section);
        if self.options.split {
            self.end_line(OutputStream::Stderr);
            if section == Section::Agent {
                self.space();
            }
        } else if before.is_text() || section.is_text() {
            self.space();
        } else {
            self.end_line(OutputStream::Stdout);
        }
    }

    /// Adds an empty line to standard output, unless it has one or is empty.
    fn space(&mut self) {
        let missing = SPACE.saturating_sub(self.ends[OutputStream::Stdout as usize]);
        self.put(OutputStream::Stdout, &"\n".repeat(missing));
    }

    fn put(&mut self, stream: OutputStream, text: &str) {
        if text.is_empty() {
            return;
        }
        let ends = text.len() - text.trim_end_matches('\n').len();
        let before = if ends == text.len() { self.ends[stream as usize] } else { 0 };
        self.ends[stream as usize] = before + ends;
        match self.out.last_mut() {
            Some((last, before)) if *last == stream => before.push_str(text),
            _ => self.out.push((stream, text.to_owned())),
        }
    }

    fn end_line(&mut self, stream: OutputStream) {
        if self.ends[stream as usize] == 0 {
            self.put(stream, "\n");
        }
    }
}

//! Reads an agent's standard output chunk by chunk and returns events. The result does not depend on the chunk
//! boundaries. Junk between the lines is tolerated, and memory is bounded.

use crate::agent_description::{Agent, Output, Read, Span};
use crate::lines::{Line, Lines, Longer};
use crate::rule::Rule;
use crate::session::AgentSession;
use serde_json::Value;

/// Maximum length of a line, and of a message that is assembled from deltas.
pub const LINE_BYTES: usize = 4 << 20;

/// Content of an output line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Session id of the agent: the first one, and every change.
    Session(AgentSession),
    /// Part of a message.
    Delta(String),
    /// Complete message, even if its parts came before.
    Message(String),
    /// Tokens used so far, by the turn or by the session.
    Usage(Usage),
    /// Error message.
    Error(String),
    /// Final text. The last of several counts.
    Final(String),
    /// Line without any of these. It still shows that the agent works.
    Activity(NoContent),
}

/// Reason why a line has no content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoContent {
    /// No rule matches.
    Other,
    /// The line is not a JSON object.
    NotJson,
    /// The line exceeds the maximum length.
    TooLong,
    /// The session id is invalid.
    BadSession,
}

/// Tokens, as the agent counts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Number of input tokens.
    pub input: u64,
    /// Number of output tokens.
    pub output: u64,
    /// Period of the count: the turn, or the session so far. Never a step.
    pub of: Span,
}

/// Text of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Answer {
    /// No text.
    #[default]
    None,
    /// Last message of a turn whose end the agent did not report.
    Unfinished(String),
    /// Final text.
    Final(String),
}

/// Content of a turn's whole output.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OutputSummary {
    /// Session id of the agent.
    pub session: Option<AgentSession>,
    /// Text of the turn.
    pub answer: Answer,
    /// True if the text was too long and its end is missing.
    pub cut: bool,
    /// Last error message.
    pub error: Option<String>,
    /// Tokens used.
    pub usage: Option<Usage>,
}

/// Reader of the output of one turn.
#[derive(Debug)]
pub struct Reader {
    lines: Lines,
    state: State,
}

#[derive(Debug)]
struct State {
    /// Rules for JSON lines; `None` for plain text.
    read: Option<Box<Read>>,
    most: usize,
    told: OutputSummary,
    /// Last message, or its beginning so far.
    message: Option<String>,
    /// True if the next delta belongs to that message.
    open: bool,
    /// True if that message was cut.
    cut: bool,
}

impl Reader {
    /// Creates a reader for this agent's output.
    pub fn new(agent: &Agent) -> Self {
        Self::bounded(agent, LINE_BYTES)
    }

    /// Creates a reader with this maximum length of lines and assembled messages, in bytes.
    pub fn bounded(agent: &Agent, most: usize) -> Self {
        let (read, longer) = match &agent.output {
            Output::Text => (None, Longer::Cut),
            Output::JsonLines(read) => (Some(read.clone()), Longer::Skip),
        };
        let state =
            State { read, most, told: OutputSummary::default(), message: None, open: false, cut: false };
        Self { lines: Lines::new(most, longer), state }
    }

    /// Reads a chunk and returns the events of the lines that it completes.
    pub fn feed(&mut self, chunk: &[u8]) -> Vec<Event> {
        let mut events = Vec::new();
        self.lines.feed(chunk, |line| self.state.line(&line, &mut events));
        events
    }

    /// Ends the output: returns the events of its last line, and the content of the whole output.
    pub fn finish(mut self) -> (Vec<Event>, OutputSummary) {
        let mut events = Vec::new();
        self.lines.finish(|line| self.state.line(&line, &mut events));
        self.state.end(&mut events);
        (events, self.state.told)
    }
}

impl State {
    fn line(&mut self, line: &Line<'_>, events: &mut Vec<Event>) {
        let Line::Whole(bytes) = line else {
            events.push(Event::Activity(NoContent::TooLong));
            return;
        };
        let text = String::from_utf8_lossy(bytes);
        let Some(read) = self.read.take() else {
            self.delta(text.into_owned(), events);
            return;
        };
        match object(&text) {
            Some(line) => self.object(&read, &line, events),
            None => events.push(Event::Activity(NoContent::NotJson)),
        }
        self.read = Some(read);
    }

    fn object(&mut self, read: &Read, line: &Value, events: &mut Vec<Event>) {
        let before = events.len();
        let mut untold = NoContent::Other;
        if let Some(name) = first(&read.session, line) {
            match AgentSession::new(&name) {
                Ok(session) => self.session(session, events),
                Err(_) => untold = NoContent::BadSession,
            }
        }
        match first(&read.delta, line) {
            Some(text) => self.delta(text, events),
            // The deltas of a message come in lines without another JSON object between them.
            None => self.open = false,
        }
        if let Some(text) = first(&read.message, line) {
            self.message = Some(text.clone());
            self.cut = false;
            events.push(Event::Message(text));
        }
        self.usage(read, line, events);
        if let Some(text) = first(&read.error, line) {
            self.told.error = Some(text.clone());
            events.push(Event::Error(text));
        }
        self.last(read, line, events);
        if events.len() == before {
            events.push(Event::Activity(untold));
        }
    }

    fn session(&mut self, session: AgentSession, events: &mut Vec<Event>) {
        if self.told.session.as_ref() != Some(&session) {
            self.told.session = Some(session.clone());
            events.push(Event::Session(session));
        }
    }

    fn delta(&mut self, text: String, events: &mut Vec<Event>) {
        let message = self.message.get_or_insert_default();
        if !self.open {
            message.clear();
            self.cut = false;
            self.open = true;
        }
        if !self.cut {
            let room = text.floor_char_boundary(self.most.saturating_sub(message.len()));
            message.push_str(&text[..room]);
            self.cut = room < text.len();
        }
        events.push(Event::Delta(text));
    }

    fn usage(&mut self, read: &Read, line: &Value, events: &mut Vec<Event>) {
        let number = |rules: &[Rule]| rules.iter().find_map(|rule| rule.number(line));
        let (input, output) = (number(&read.usage_input), number(&read.usage_output));
        if input.is_none() && output.is_none() {
            return;
        }
        let mut usage = Usage { input: input.unwrap_or(0), output: output.unwrap_or(0), of: read.usage_of };
        if read.usage_of == Span::Step {
            let so_far = self.told.usage.map_or((0, 0), |usage| (usage.input, usage.output));
            usage.input = usage.input.saturating_add(so_far.0);
            usage.output = usage.output.saturating_add(so_far.1);
            usage.of = Span::Turn;
        }
        self.told.usage = Some(usage);
        events.push(Event::Usage(usage));
    }

    /// Reads the final text from a line, or takes the last message if the line marks it as final.
    fn last(&mut self, read: &Read, line: &Value, events: &mut Vec<Event>) {
        let given = first(&read.last, line);
        let is_done = || read.last.iter().any(|rule| !rule.takes() && rule.is_about(line));
        let (text, cut) = match given {
            Some(text) => (Some(text), false),
            None if is_done() => (Some(self.message.clone().unwrap_or_default()), self.cut),
            None => (None, false),
        };
        if let Some(text) = text {
            self.told.answer = Answer::Final(text.clone());
            self.told.cut = cut;
            events.push(Event::Final(text));
        }
    }

    fn end(&mut self, events: &mut Vec<Event>) {
        let Some(text) = self.message.take() else { return };
        if self.read.is_none() {
            let text = text.trim_end().to_owned();
            self.told.answer = Answer::Final(text.clone());
            self.told.cut = self.cut;
            events.push(Event::Final(text));
        } else if self.told.answer == Answer::None {
            self.told.answer = Answer::Unfinished(text);
            self.told.cut = self.cut;
        }
    }
}

fn object(line: &str) -> Option<Value> {
    // Skips the parser for lines that cannot be objects.
    let line = line.trim();
    if line.starts_with('{') { serde_json::from_str(line).ok() } else { None }
}

fn first(rules: &[Rule], line: &Value) -> Option<String> {
    rules.iter().find_map(|rule| rule.text(line))
}

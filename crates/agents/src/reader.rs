//! Reads an agent's standard output. It takes chunks as they come and tells what they say; how the stream was cut into
//! chunks makes no difference. Junk between the lines is tolerated, and nothing grows without bound.

use crate::agent::{Agent, Output, Read, Span};
use crate::lines::{Line, Lines, Longer};
use crate::rule::Rule;
use crate::session::AgentSession;
use serde_json::Value;

/// The longest line that is read, and the longest text that is put together from pieces.
pub const LINE_BYTES: usize = 4 << 20;

/// What the output says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The agent's own name for its session, when it is first told and when it changes.
    Session(AgentSession),
    /// A piece of a message.
    Delta(String),
    /// A message as a whole, whether it came in pieces before or not.
    Message(String),
    /// What the turn has used so far, or the session.
    Usage(Usage),
    /// What went wrong.
    Error(String),
    /// The final text. Of several the last holds.
    Final(String),
    /// A line that tells none of these. The agent is at work all the same.
    Activity(Untold),
}

/// Why a line tells nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Untold {
    /// It is about something else.
    Other,
    /// It is no JSON object.
    NotJson,
    /// It is longer than is read.
    TooLong,
    /// It names a session by what cannot be a name.
    BadSession,
}

/// Tokens, as the agent counts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Read.
    pub input: u64,
    /// Written.
    pub output: u64,
    /// Whether these are the turn's or all that the session had so far; never a step's.
    pub of: Span,
}

/// The text of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Answer {
    /// There is none.
    #[default]
    None,
    /// The last message so far; the agent did not say that it was done.
    Unfinished(String),
    /// The final text.
    Final(String),
}

/// All that a turn's output said.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Told {
    /// The agent's own name for its session.
    pub session: Option<AgentSession>,
    /// The text.
    pub answer: Answer,
    /// Whether the text was longer and its end is missing.
    pub cut: bool,
    /// What went wrong, last.
    pub error: Option<String>,
    /// What was used.
    pub usage: Option<Usage>,
}

/// Reads the output of one turn.
#[derive(Debug)]
pub struct Reader {
    lines: Lines,
    state: State,
}

#[derive(Debug)]
struct State {
    /// `None` reads plain text.
    read: Option<Box<Read>>,
    most: usize,
    told: Told,
    /// The last message, or as much of it as there is.
    message: Option<String>,
    /// Whether the next piece belongs to that message.
    open: bool,
    /// Whether that message is longer.
    cut: bool,
}

impl Reader {
    /// A reader of this agent's output.
    pub fn new(agent: &Agent) -> Self {
        Self::bounded(agent, LINE_BYTES)
    }

    /// A reader of lines of at most so many bytes.
    pub fn bounded(agent: &Agent, most: usize) -> Self {
        let (read, longer) = match &agent.output {
            Output::Text => (None, Longer::Cut),
            Output::JsonLines(read) => (Some(read.clone()), Longer::Skip),
        };
        let state = State { read, most, told: Told::default(), message: None, open: false, cut: false };
        Self { lines: Lines::new(most, longer), state }
    }

    /// Takes a chunk in.
    pub fn feed(&mut self, chunk: &[u8]) -> Vec<Event> {
        let mut events = Vec::new();
        self.lines.feed(chunk, |line| self.state.line(&line, &mut events));
        events
    }

    /// The output has ended: what its last line says, and all that was told.
    pub fn finish(mut self) -> (Vec<Event>, Told) {
        let mut events = Vec::new();
        self.lines.finish(|line| self.state.line(&line, &mut events));
        self.state.end(&mut events);
        (events, self.state.told)
    }
}

impl State {
    fn line(&mut self, line: &Line<'_>, events: &mut Vec<Event>) {
        let Line::Whole(bytes) = line else {
            events.push(Event::Activity(Untold::TooLong));
            return;
        };
        let text = String::from_utf8_lossy(bytes);
        let Some(read) = self.read.take() else {
            self.delta(text.into_owned(), events);
            return;
        };
        match object(&text) {
            Some(line) => self.object(&read, &line, events),
            None => events.push(Event::Activity(Untold::NotJson)),
        }
        self.read = Some(read);
    }

    fn object(&mut self, read: &Read, line: &Value, events: &mut Vec<Event>) {
        let before = events.len();
        let mut untold = Untold::Other;
        if let Some(name) = first(&read.session, line) {
            match AgentSession::new(&name) {
                Ok(session) => self.session(session, events),
                Err(_) => untold = Untold::BadSession,
            }
        }
        match first(&read.delta, line) {
            Some(text) => self.delta(text, events),
            // Pieces of one message follow one another.
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

    /// The line may hold the final text, or say that the last message was it.
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
    // A line of junk is not worth parsing.
    let line = line.trim();
    if line.starts_with('{') { serde_json::from_str(line).ok() } else { None }
}

fn first(rules: &[Rule], line: &Value) -> Option<String> {
    rules.iter().find_map(|rule| rule.text(line))
}

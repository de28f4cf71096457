//! Follows a turn and prints it live. If the daemon goes away, reconnects to the next one and continues where the output
//! stopped. At a terminal, asks the user for permissions and handles Ctrl-C.

use super::ending;
use super::prompt::FollowedTurn;
use super::silence::Silence;
use crate::daemon_client;
use crate::failure::Failure;
use crate::print::{self, OutputStream, Style, Tone, Transcript, TranscriptOptions};
use serde::Serialize;
use std::io::{BufRead, IsTerminal, Write, stderr, stdin, stdout};
use std::time::Duration;
use tenure_client::{CallError, Client, FollowRequest, Update};
use tenure_core::session::TurnState;
use tenure_core::tools::sessions::{Action, EntryJson, TurnJson};
use tenure_os::hear::Interrupts;
use tenure_os::stderr::complain;
use tenure_os::terminal;
use tenure_settings::Settings;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, sleep_until};

/// Pause before the next attempt to connect, after a connection that was lost or refused.
const RECONNECT_PAUSE: Duration = Duration::from_millis(200);

/// Effect of Ctrl-C.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Interrupt {
    /// Cancels the turn; a second Ctrl-C stops following it.
    Cancels,
    /// Stops following the turn, which goes on.
    Leaves,
}

/// A line of `--json`: `{"entry": …}` or `{"turn": …}`.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum JsonLine<'a> {
    Entry(&'a EntryJson),
    Turn(&'a TurnJson),
}

/// Result of following a turn.
pub(super) enum FollowOutcome {
    /// The turn has ended.
    Ended {
        turn: Box<TurnJson>,
        /// Refused permission that the agent ended its turn after, if any.
        refusal: Option<String>,
    },
    /// The user stopped following before the turn ended.
    Left {
        /// True if the user cancelled the turn before.
        cancelled: bool,
    },
}

/// A followed turn: its session, the output so far, and the user's terminal.
pub(super) struct TurnFollower<'a> {
    settings: &'a Settings,
    key: &'a str,
    followed_turn: FollowedTurn,
    json: bool,
    interrupt: Interrupt,
    transcript: Transcript,
    answers: AnswerReader,
    /// True once the turn has started: its message may have been queued.
    has_started: bool,
    cancelled: bool,
    silence: Silence,
}

impl<'a> TurnFollower<'a> {
    pub(super) fn new(
        settings: &'a Settings,
        key: &'a str,
        followed_turn: FollowedTurn,
        json: bool,
        interrupt: Interrupt,
    ) -> Self {
        let is_terminal = stdout().is_terminal();
        let dumb = std::env::var("TERM").is_ok_and(|term| term == "dumb");
        let echo = interrupt == Interrupt::Leaves;
        let options = TranscriptOptions {
            style: Style::of_stdout(),
            live: is_terminal && !dumb,
            split: !is_terminal,
            echo,
        };
        Self {
            settings,
            key,
            followed_turn,
            json,
            interrupt,
            transcript: Transcript::new(options),
            answers: AnswerReader::new(json),
            has_started: false,
            cancelled: false,
            silence: Silence::new(Instant::now()),
        }
    }

    /// Follows the turn until it ends or the user leaves.
    pub(super) fn run(mut self) -> Result<FollowOutcome, Failure> {
        let watched = daemon_client::try_call(self.watch())??;
        if self.json {
            return Ok(watched);
        }
        self.transcript.settle();
        if let FollowOutcome::Ended { turn, .. } = &watched {
            if let Some(text) = turn.text.as_deref().filter(|_| !self.transcript.answered()) {
                self.transcript.answer(text);
                self.transcript.settle();
            }
            if stdout().is_terminal() {
                let closing = ending::closing_line(turn, self.transcript.usage());
                self.transcript.say(Tone::Dim, &closing);
            }
        }
        self.print()?;
        Ok(watched)
    }

    async fn watch(&mut self) -> Result<FollowOutcome, Failure> {
        let mut interrupts = Interrupts::take().map_err(Failure::refused)?;
        loop {
            let client = tokio::select! {
                client = connect(self.settings) => client?,
                () = interrupts.next() => return Ok(FollowOutcome::Left { cancelled: self.cancelled }),
            };
            match self.connected(&client, &mut interrupts).await? {
                Some(watched) => return Ok(watched),
                None => tokio::time::sleep(RECONNECT_PAUSE).await,
            }
        }
    }

    /// Follows the turn through this daemon; returns `None` if the daemon went away.
    async fn connected(
        &mut self,
        client: &Client,
        interrupts: &mut Interrupts,
    ) -> Result<Option<FollowOutcome>, Failure> {
        let (sender, mut updates) = unbounded_channel();
        let (key, turn) = (self.key, self.followed_turn.turn.clone());
        let since = self.transcript.since().unwrap_or(self.followed_turn.since);
        let foreground = self.followed_turn.foreground;
        let followed = FollowRequest { key, turn: Some(&turn), since: Some(since), foreground };
        let stream = client.updates(followed, move |update| sender.send(update).is_ok());
        tokio::pin!(stream);
        loop {
            tokio::select! {
                biased;
                () = interrupts.next() => {
                    if self.handle_interrupt(client)? {
                        return Ok(Some(FollowOutcome::Left { cancelled: self.cancelled }));
                    }
                }
                Some(update) = updates.recv() => {
                    self.silence = Silence::new(Instant::now());
                    if let Some(turn) = self.handle_update(update)? {
                        return Ok(Some(self.ended(turn)));
                    }
                }
                Some(line) = self.answers.typed.recv() => self.handle_answer(client, &line).await?,
                () = sleep_until(self.silence.due()) => self.report_silence()?,
                ended = &mut stream => {
                    while let Ok(update) = updates.try_recv() {
                        if let Some(turn) = self.handle_update(update)? {
                            return Ok(Some(self.ended(turn)));
                        }
                    }
                    return stream_result(ended).map(|()| None);
                }
            }
        }
    }

    /// Prints that nothing was received for a while, unless the turn has not started or waits for the user's answer.
    fn report_silence(&mut self) -> Result<(), Failure> {
        let notice = self.silence.notice();
        if !self.has_started || self.transcript.question().is_some() {
            return Ok(());
        }
        let how = match self.interrupt {
            Interrupt::Cancels => "Ctrl-C cancels it",
            Interrupt::Leaves => "`tenure acp cancel` ends it",
        };
        let notice = format!("{notice}; {how}");
        if self.json {
            complain(notice);
            return Ok(());
        }
        self.transcript.say(Tone::Dim, &notice);
        self.print()
    }

    fn ended(&self, turn: Box<TurnJson>) -> FollowOutcome {
        FollowOutcome::Ended { turn, refusal: self.transcript.refusal().filter(|_| !self.cancelled) }
    }

    /// Prints an update; returns the turn if it has ended.
    fn handle_update(&mut self, update: Update) -> Result<Option<Box<TurnJson>>, Failure> {
        match update {
            Update::Entry(entry) => {
                let is_of_it = |turn: &str| turn == self.followed_turn.turn;
                if entry.turn_id.as_ref().is_some_and(|turn| !is_of_it(turn.as_str())) {
                    return Ok(None);
                }
                self.has_started |= entry.turn_id.is_some();
                self.transcript.entry(&entry);
                if self.json {
                    self.transcript.take();
                    return print::json(&JsonLine::Entry(&entry)).map(|()| None);
                }
                self.ask();
                self.print().map(|()| None)
            }
            Update::Turn(turn) if turn.turn_id.as_str() != self.followed_turn.turn => Ok(None),
            Update::Turn(turn) => {
                self.has_started = true;
                if self.json {
                    print::json(&JsonLine::Turn(&turn))?;
                }
                Ok((turn.state != TurnState::Running).then_some(turn))
            }
        }
    }

    /// Asks the user at the terminal the oldest open question.
    fn ask(&mut self) {
        let question = self.transcript.question().map(|question| (question.id.clone(), question.prompt()));
        let Some((id, prompt)) = question else {
            self.answers.asked = None;
            return;
        };
        if self.answers.can_ask && self.answers.asked.as_ref() != Some(&id) {
            self.answers.begin();
            self.answers.asked = Some(id);
            self.transcript.ask(&prompt);
        }
    }

    /// Handles a typed line as the answer to the open question. If none is open, it was answered elsewhere.
    async fn handle_answer(&mut self, client: &Client, line: &str) -> Result<(), Failure> {
        self.transcript.typed();
        let Some(question) = self.transcript.question().cloned() else { return Ok(()) };
        match question.parse_answer(line) {
            Some(option) => {
                if let Err(failed) = client.choose(&question.id, &option.id).await {
                    self.transcript.say(Tone::Bad, &print::plain(&failed.to_string()));
                }
            }
            None => self.transcript.ask(&question.prompt()),
        }
        self.print()
    }

    /// Handles Ctrl-C; returns true if it stops following. A turn that has not started is not cancelled: the request would
    /// cancel the turn that runs before it.
    fn handle_interrupt(&mut self, client: &Client) -> Result<bool, Failure> {
        if self.interrupt == Interrupt::Leaves || self.cancelled || !self.has_started {
            return Ok(true);
        }
        self.cancelled = true;
        let (client, request) = (client.clone(), super::about(Action::Cancel, self.key.to_owned()));
        // A lost request is not repeated: the next Ctrl-C stops following.
        tokio::spawn(async move { client.sessions(&request).await });
        let text = "the turn is being cancelled; press Ctrl-C again to leave";
        if self.json {
            complain(text);
            return Ok(false);
        }
        self.transcript.say(Tone::Warning, text);
        self.print().map(|()| false)
    }

    fn print(&mut self) -> Result<(), Failure> {
        for (stream, text) in self.transcript.take() {
            match stream {
                OutputStream::Stdout => print::text(&text)?,
                // A closed standard error is no reason to stop.
                OutputStream::Stderr => drop(stderr().write_all(text.as_bytes())),
            }
        }
        Ok(())
    }
}

/// Connects to the daemon, which is started if autostart is on; otherwise waits until somebody starts one.
async fn connect(settings: &Settings) -> Result<Client, Failure> {
    loop {
        let settings = settings.clone();
        let found = tokio::task::spawn_blocking(move || daemon_client::connect_or_start(&settings)).await;
        if let Some(client) = found.map_err(Failure::refused)?? {
            return Ok(client);
        }
        tokio::time::sleep(RECONNECT_PAUSE).await;
    }
}

/// Result of an update stream that ended before its turn. A lost daemon is no error: the next one is tried.
fn stream_result(ended: Result<(), CallError>) -> Result<(), Failure> {
    match ended {
        Ok(()) => Ok(()),
        Err(failed) if failed.is_lost() => Ok(()),
        Err(failed) => Err(daemon_client::to_failure(&failed)),
    }
}

/// Reads the user's answers from the terminal, if there is one.
struct AnswerReader {
    can_ask: bool,
    /// Id of the question that is being asked.
    asked: Option<String>,
    typed: UnboundedReceiver<String>,
    keyboard: UnboundedSender<String>,
    reads: bool,
}

impl AnswerReader {
    fn new(json: bool) -> Self {
        let (keyboard, typed) = unbounded_channel();
        let sees = stdout().is_terminal() || stderr().is_terminal();
        let can_ask = !json && sees && stdin().is_terminal() && terminal::stdin().in_foreground();
        Self { can_ask, asked: None, typed, keyboard, reads: false }
    }

    /// Starts to read lines. Discards everything typed before, because it cannot answer a question that was not shown yet.
    /// The reading thread ends with the process: nothing else can wake it.
    fn begin(&mut self) {
        terminal::stdin().forget_typed();
        while self.typed.try_recv().is_ok() {}
        if std::mem::replace(&mut self.reads, true) {
            return;
        }
        let keyboard = self.keyboard.clone();
        std::thread::spawn(move || {
            for line in stdin().lock().lines().map_while(Result::ok) {
                if keyboard.send(line).is_err() {
                    return;
                }
            }
        });
    }
}

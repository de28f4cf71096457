//! Follows a turn and prints it live. If the daemon goes away, reconnects to the next one and continues where the output
//! stopped. At a terminal, asks the user for permissions and handles Ctrl-C.

use super::ending;
use super::prompt::Watching;
use super::quiet::Quiet;
use crate::failure::Failure;
use crate::print::{self, Face, Happened, Onto, Style, Tone};
use crate::reach;
use serde::Serialize;
use std::io::{BufRead, IsTerminal, Write, stderr, stdin, stdout};
use std::time::Duration;
use tenure_client::{Client, Failed, Followed, Update};
use tenure_core::session::TurnState;
use tenure_core::tools::sessions::{Action, EntryJson, TurnJson};
use tenure_os::complaint::complain;
use tenure_os::hear::Interrupts;
use tenure_os::terminal;
use tenure_settings::Settings;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, sleep_until};

/// Pause before the next attempt to connect, after a connection that was lost or refused.
const AGAIN: Duration = Duration::from_millis(200);

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
enum Told<'a> {
    Entry(&'a EntryJson),
    Turn(&'a TurnJson),
}

/// Result of following a turn.
pub(super) enum Watched {
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
pub(super) struct Follow<'a> {
    settings: &'a Settings,
    key: &'a str,
    watching: Watching,
    json: bool,
    interrupt: Interrupt,
    happened: Happened,
    typist: Typist,
    /// True once the turn has started: its message may have been queued.
    begun: bool,
    cancelled: bool,
    quiet: Quiet,
}

impl<'a> Follow<'a> {
    pub(super) fn new(
        settings: &'a Settings,
        key: &'a str,
        watching: Watching,
        json: bool,
        interrupt: Interrupt,
    ) -> Self {
        let is_terminal = stdout().is_terminal();
        let dumb = std::env::var("TERM").is_ok_and(|term| term == "dumb");
        let echo = interrupt == Interrupt::Leaves;
        let style = Style { face: Face::of_stdout(), live: is_terminal && !dumb, split: !is_terminal, echo };
        Self {
            settings,
            key,
            watching,
            json,
            interrupt,
            happened: Happened::new(style),
            typist: Typist::new(json),
            begun: false,
            cancelled: false,
            quiet: Quiet::new(Instant::now()),
        }
    }

    /// Follows the turn until it ends or the user leaves.
    pub(super) fn until_its_end(mut self) -> Result<Watched, Failure> {
        let watched = reach::try_wait(self.watch())??;
        if self.json {
            return Ok(watched);
        }
        self.happened.settle();
        if let Watched::Ended { turn, .. } = &watched {
            if let Some(text) = turn.text.as_deref().filter(|_| !self.happened.answered()) {
                self.happened.answer(text);
                self.happened.settle();
            }
            if stdout().is_terminal() {
                let closing = ending::closing(turn, self.happened.usage());
                self.happened.say(Tone::Quiet, &closing);
            }
        }
        self.print()?;
        Ok(watched)
    }

    async fn watch(&mut self) -> Result<Watched, Failure> {
        let mut interrupts = Interrupts::take().map_err(Failure::refused)?;
        loop {
            let client = tokio::select! {
                client = reachable(self.settings) => client?,
                () = interrupts.next() => return Ok(Watched::Left { cancelled: self.cancelled }),
            };
            match self.connected(&client, &mut interrupts).await? {
                Some(watched) => return Ok(watched),
                None => tokio::time::sleep(AGAIN).await,
            }
        }
    }

    /// Follows the turn through this daemon; returns `None` if the daemon went away.
    async fn connected(
        &mut self,
        client: &Client,
        interrupts: &mut Interrupts,
    ) -> Result<Option<Watched>, Failure> {
        let (told, mut updates) = unbounded_channel();
        let (key, turn) = (self.key, self.watching.turn.clone());
        let since = self.happened.since().unwrap_or(self.watching.since);
        let foreground = self.watching.foreground;
        let followed = Followed { key, turn: Some(&turn), since: Some(since), foreground };
        let stream = client.updates(followed, move |update| told.send(update).is_ok());
        tokio::pin!(stream);
        loop {
            tokio::select! {
                biased;
                () = interrupts.next() => {
                    if self.interrupted(client)? {
                        return Ok(Some(Watched::Left { cancelled: self.cancelled }));
                    }
                }
                Some(update) = updates.recv() => {
                    self.quiet = Quiet::new(Instant::now());
                    if let Some(turn) = self.told(update)? {
                        return Ok(Some(self.ended(turn)));
                    }
                }
                Some(line) = self.typist.typed.recv() => self.answered(client, &line).await?,
                () = sleep_until(self.quiet.due()) => self.say_quiet()?,
                ended = &mut stream => {
                    while let Ok(update) = updates.try_recv() {
                        if let Some(turn) = self.told(update)? {
                            return Ok(Some(self.ended(turn)));
                        }
                    }
                    return gone(ended).map(|()| None);
                }
            }
        }
    }

    /// Prints that nothing was received for a while, unless the turn has not started or waits for the user's answer.
    fn say_quiet(&mut self) -> Result<(), Failure> {
        let notice = self.quiet.notice();
        if !self.begun || self.happened.question().is_some() {
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
        self.happened.say(Tone::Quiet, &notice);
        self.print()
    }

    fn ended(&self, turn: Box<TurnJson>) -> Watched {
        Watched::Ended { turn, refusal: self.happened.refusal().filter(|_| !self.cancelled) }
    }

    /// Prints an update; returns the turn if it has ended.
    fn told(&mut self, update: Update) -> Result<Option<Box<TurnJson>>, Failure> {
        match update {
            Update::Entry(entry) => {
                let is_of_it = |turn: &str| turn == self.watching.turn;
                if entry.turn_id.as_ref().is_some_and(|turn| !is_of_it(turn.as_str())) {
                    return Ok(None);
                }
                self.begun |= entry.turn_id.is_some();
                self.happened.entry(&entry);
                if self.json {
                    self.happened.take();
                    return print::json(&Told::Entry(&entry)).map(|()| None);
                }
                self.ask();
                self.print().map(|()| None)
            }
            Update::Turn(turn) if turn.turn_id.as_str() != self.watching.turn => Ok(None),
            Update::Turn(turn) => {
                self.begun = true;
                if self.json {
                    print::json(&Told::Turn(&turn))?;
                }
                Ok((turn.state != TurnState::Running).then_some(turn))
            }
        }
    }

    /// Asks the user at the terminal the oldest open question.
    fn ask(&mut self) {
        let question = self.happened.question().map(|question| (question.id.clone(), question.prompt()));
        let Some((id, prompt)) = question else {
            self.typist.asked = None;
            return;
        };
        if self.typist.can_ask && self.typist.asked.as_ref() != Some(&id) {
            self.typist.begin();
            self.typist.asked = Some(id);
            self.happened.ask(&prompt);
        }
    }

    /// Handles a typed line as the answer to the open question. If none is open, it was answered elsewhere.
    async fn answered(&mut self, client: &Client, line: &str) -> Result<(), Failure> {
        self.happened.typed();
        let Some(question) = self.happened.question().cloned() else { return Ok(()) };
        match question.meant(line) {
            Some(option) => {
                if let Err(failed) = client.choose(&question.id, &option.id).await {
                    self.happened.say(Tone::Bad, &print::plain(&failed.to_string()));
                }
            }
            None => self.happened.ask(&question.prompt()),
        }
        self.print()
    }

    /// Handles Ctrl-C; returns true if it stops following. A turn that has not started is not cancelled: the request would
    /// cancel the turn that runs before it.
    fn interrupted(&mut self, client: &Client) -> Result<bool, Failure> {
        if self.interrupt == Interrupt::Leaves || self.cancelled || !self.begun {
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
        self.happened.say(Tone::Odd, text);
        self.print().map(|()| false)
    }

    fn print(&mut self) -> Result<(), Failure> {
        for (onto, text) in self.happened.take() {
            match onto {
                Onto::Answer => print::text(&text)?,
                // A closed standard error is no reason to stop.
                Onto::Beside => drop(stderr().write_all(text.as_bytes())),
            }
        }
        Ok(())
    }
}

/// Connects to the daemon, which is started if autostart is on; otherwise waits until somebody starts one.
async fn reachable(settings: &Settings) -> Result<Client, Failure> {
    loop {
        let settings = settings.clone();
        let found = tokio::task::spawn_blocking(move || reach::daemon(&settings)).await;
        if let Some(client) = found.map_err(Failure::refused)?? {
            return Ok(client);
        }
        tokio::time::sleep(AGAIN).await;
    }
}

/// Result of an update stream that ended before its turn. A lost daemon is no error: the next one is tried.
fn gone(ended: Result<(), Failed>) -> Result<(), Failure> {
    match ended {
        Ok(()) => Ok(()),
        Err(failed) if failed.is_lost() => Ok(()),
        Err(failed) => Err(reach::failure(&failed)),
    }
}

/// Reads the user's answers from the terminal, if there is one.
struct Typist {
    can_ask: bool,
    /// Id of the question that is being asked.
    asked: Option<String>,
    typed: UnboundedReceiver<String>,
    keyboard: UnboundedSender<String>,
    reads: bool,
}

impl Typist {
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

//! A turn, shown while it happens. A daemon that goes in the middle is followed by the next, and the turn is shown on from
//! where it was. A person at a terminal is asked there, and can interrupt.

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

/// How long after a connection that ended too early the next is tried.
const AGAIN: Duration = Duration::from_millis(200);

/// What Ctrl-C does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Interrupt {
    /// It cancels the turn; once more, it leaves.
    Cancels,
    /// It leaves.
    Leaves,
}

/// A line of `--json`: `{"entry": …}` or `{"turn": …}`.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Told<'a> {
    Entry(&'a EntryJson),
    Turn(&'a TurnJson),
}

/// What became of the watching.
pub(super) enum Watched {
    /// The turn has ended.
    Ended {
        turn: Box<TurnJson>,
        /// What the agent was refused at last.
        refusal: Option<String>,
    },
    /// Whoever watched has left.
    Left {
        /// Whether the turn was told to stop before.
        cancelled: bool,
    },
}

/// Who watches which turn, and what they have seen.
pub(super) struct Follow<'a> {
    settings: &'a Settings,
    key: &'a str,
    watching: Watching,
    json: bool,
    interrupt: Interrupt,
    happened: Happened,
    typist: Typist,
    /// Whether the turn has begun.
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

    /// As long as this daemon is there; `None` if it went.
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

    /// Tells that nothing has come for a while, unless it is a person who is waited for.
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

    /// Shows what is told; the turn, if it has ended.
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

    /// Asks the person at the terminal what is not decided.
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

    /// What was typed. A question that is decided by now has been answered elsewhere.
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

    /// Ctrl-C. Whether it leaves: what still waits for its turn is not to be cancelled, another's turn would be.
    fn interrupted(&mut self, client: &Client) -> Result<bool, Failure> {
        if self.interrupt == Interrupt::Leaves || self.cancelled || !self.begun {
            return Ok(true);
        }
        self.cancelled = true;
        let (client, request) = (client.clone(), super::about(Action::Cancel, self.key.to_owned()));
        // Whoever is not heard is asked again by the next Ctrl-C, which leaves.
        tokio::spawn(async move { client.sessions(&request).await });
        let text = "the turn is being cancelled; Ctrl-C once more leaves";
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
                // Whoever does not read it needs none of it.
                Onto::Beside => drop(stderr().write_all(text.as_bytes())),
            }
        }
        Ok(())
    }
}

/// The daemon, or the next one. One is started if that is how it is set; otherwise somebody else will.
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

/// A stream that ended before the turn did is that of a daemon that went.
fn gone(ended: Result<(), Failed>) -> Result<(), Failure> {
    match ended {
        Ok(()) => Ok(()),
        Err(failed) if failed.is_lost() => Ok(()),
        Err(failed) => Err(reach::failure(&failed)),
    }
}

/// The person at the terminal, if there is one.
struct Typist {
    can_ask: bool,
    /// The question that they are asked.
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

    /// Reads what is typed from here on: what was typed before answers no question. The thread ends with the process:
    /// nothing else can wake it.
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

use super::*;
use crate::schema::{Error, PromptRequest, SessionId};
use serde_json::json;
use std::pin::pin;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use tenure_core::ids::RunId;
use tenure_core::session::SessionKey;
use tenure_core::talk::{Advanced, Entry, Line, Talk};
use tokio::sync::Notify;

/// An adapter, its agent and its record, all in memory. It outlives its drivers.
struct World {
    state: Mutex<State>,
    grown: Notify,
    /// Whether somebody answers the agent's requests.
    answers: bool,
    /// How long the next thing takes: another seed is another order of events.
    seed: AtomicU64,
}

struct State {
    output: Vec<u8>,
    input: Vec<u8>,
    /// Up to where the agent has read its input.
    obeyed: usize,
    talk: Talk,
    lines: Vec<Line>,
    asked: Vec<AskedOfUs>,
    entries: Vec<Entry>,
    is_over: bool,
    /// Up to where the output is not kept any more.
    lost_to: usize,
}

fn turn() -> TurnId {
    TurnId::from_random([1; 12])
}

impl World {
    fn new(answers: bool) -> Arc<Self> {
        let key: SessionKey = "a".parse().unwrap();
        let talk = Talk {
            run: RunId::from_random([1; 12]),
            session: key,
            began_at_ms: 0,
            over_at_ms: None,
            heard_to: 0,
            said_to: 0,
            last_id: 0,
            agent_session: None,
            abilities: None,
        };
        let state = State {
            output: Vec::new(),
            input: Vec::new(),
            obeyed: 0,
            talk,
            lines: Vec::new(),
            asked: Vec::new(),
            entries: Vec::new(),
            is_over: false,
            lost_to: 0,
        };
        let seed = AtomicU64::new(0);
        Arc::new(Self { state: Mutex::new(state), grown: Notify::new(), answers, seed })
    }

    /// Takes a while.
    async fn dawdle(&self) {
        let seed = self.seed.load(Ordering::Relaxed);
        self.seed.store(seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1), Ordering::Relaxed);
        for _ in 0..(seed >> 33) % 4 {
            tokio::task::yield_now().await;
        }
    }

    fn open(&self) -> (OpenTalk, Vec<Entry>) {
        let state = self.state.lock().unwrap();
        let is_open = |line: &&Line| line.asks.is_some() && line.answer.is_none();
        let questions = state.lines.iter().filter(is_open).cloned().collect();
        (OpenTalk { talk: state.talk.clone(), questions, asked: state.asked.clone() }, state.entries.clone())
    }

    fn go_on(self: &Arc<Self>) -> (Handle, impl Future<Output = Over> + Send + use<>) {
        let (open, entries) = self.open();
        let entries = entries.iter().map(|entry| (entry.number, entry.kind.as_str(), entry.body.as_str()));
        go_on(Arc::clone(self), &open, History::resumed(entries))
    }

    fn print(&self, text: &str) {
        self.state.lock().unwrap().output.extend_from_slice(text.as_bytes());
        self.grown.notify_waiters();
    }

    fn bodies(&self) -> Vec<(String, String)> {
        let state = self.state.lock().unwrap();
        state.entries.iter().map(|entry| (entry.kind.clone(), entry.body.clone())).collect()
    }

    fn answer_to_the_first(&self) -> Option<String> {
        self.state.lock().unwrap().lines.first().and_then(|line| line.answer.clone())
    }

    /// All that the agent was told, line by line.
    fn heard_by_agent(&self) -> Vec<Value> {
        let state = self.state.lock().unwrap();
        let text = String::from_utf8(state.input.clone()).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// What the agent prints when it reads a line: a prompt makes it speak and ask, the answer makes it go on.
fn reaction(line: &Value) -> String {
    let update = |update: Value| {
        json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": update}})
            .to_string()
            + "\n"
    };
    let says = |text: &str| {
        update(json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}))
    };
    let tool = |kind: &str, status: &str| {
        update(json!({"sessionUpdate": kind, "toolCallId": "t", "title": "make", "status": status}))
    };
    if line["method"] == "session/prompt" {
        let asks = json!({"jsonrpc": "2.0", "id": "p", "method": "session/request_permission", "params":
            {"sessionId": "s", "toolCall": {"toolCallId": "t"}, "options": []}});
        return format!("junk\n{}{}{}{asks}\n", says("Hell"), says("o"), tool("tool_call", "pending"));
    }
    if line["id"] == "p" {
        let stop = if line["result"]["outcome"]["outcome"] == "cancelled" { "cancelled" } else { "end_turn" };
        let done = json!({"jsonrpc": "2.0", "id": 1, "result": {"stopReason": stop}});
        return format!("{}{}{done}\n", tool("tool_call_update", "completed"), says("Done."));
    }
    String::new()
}

impl Host for World {
    async fn output(&self, from: u64) -> Output {
        self.dawdle().await;
        loop {
            let grown = self.grown.notified();
            {
                let state = self.state.lock().unwrap();
                let from = usize::try_from(from).unwrap();
                if from < state.lost_to {
                    return Output::Until { at: state.lost_to as u64, is_lost: true };
                }
                if state.output.len() > from {
                    // A few bytes at a time: every border between two reads is met.
                    let end = state.output.len().min(from + 50);
                    return Output::Bytes { at: from as u64, bytes: state.output[from..end].to_vec() };
                }
                if state.is_over {
                    return Output::Over;
                }
            }
            grown.await;
        }
    }

    async fn input_taken(&self) -> Result<u64, Over> {
        Ok(self.state.lock().unwrap().input.len() as u64)
    }

    async fn give(&self, at: u64, line: String) -> Result<(), Over> {
        self.dawdle().await;
        let mut printed = String::new();
        {
            let mut state = self.state.lock().unwrap();
            let has = state.input.len() - usize::try_from(at).unwrap();
            if let Some(rest) = line.as_bytes().get(has..) {
                state.input.extend_from_slice(rest);
            }
            while let Some(length) = state.input[state.obeyed..].iter().position(|&byte| byte == b'\n') {
                let line = &state.input[state.obeyed..state.obeyed + length];
                printed += &reaction(&serde_json::from_slice(line).unwrap());
                state.obeyed += length + 1;
            }
        }
        self.print(&printed);
        Ok(())
    }

    async fn lines_from(&self, at: u64) -> Result<Vec<Line>, Over> {
        let state = self.state.lock().unwrap();
        Ok(state.lines.iter().filter(|line| line.at + line.text.len() as u64 > at).cloned().collect())
    }

    async fn record(&self, step: Advance) -> Result<Advanced, Over> {
        self.dawdle().await;
        let mut done = Advanced::default();
        {
            let mut state = self.state.lock().unwrap();
            let state = &mut *state;
            state.talk.heard_to = step.heard_to;
            for (id, answer) in step.answers {
                let of = |line: &&mut Line| line.asks.as_ref().is_some_and(|asks| asks.id == id);
                state.lines.iter_mut().find(of).unwrap().answer = Some(answer);
            }
            state.asked.extend(step.asked);
            state.asked.retain(|asked| !step.answered.contains(&asked.id));
            for (text, asks) in step.lines {
                done.at.push(state.talk.said_to);
                state.talk.last_id = state.talk.last_id.max(asks.as_ref().map_or(0, |asks| asks.id));
                let at = state.talk.said_to;
                state.talk.said_to += text.len() as u64;
                state.lines.push(Line { at, asks, text, answer: None });
            }
            for told in step.told {
                match told {
                    Told::New { turn, kind, body } => {
                        let number = state.entries.len() as u64 + 1;
                        done.numbers.push(number);
                        state.entries.push(Entry { number, turn, at_ms: 0, kind, body });
                    }
                    Told::Again { number, body } => {
                        let entry = state.entries.iter_mut().find(|entry| entry.number == number);
                        entry.unwrap().body = body;
                    }
                }
            }
        }
        self.dawdle().await;
        Ok(done)
    }

    async fn answer(&self, asked: Asked) -> Reply {
        assert!(matches!(asked.want(), crate::conversation::Want::Permission(_)));
        if !self.answers {
            std::future::pending::<()>().await;
        }
        self.dawdle().await;
        let answer = Ok(raw(&json!({"outcome": {"outcome": "selected", "optionId": "yes"}})));
        Reply { answer, told: Some(json!({"outcome": "yes", "by": "a test"})) }
    }

    fn question(&self, asked: &Asked) -> Option<RunId> {
        Some(asked.name(&self.state.lock().unwrap().talk.run))
    }

    fn now_ms(&self) -> u64 {
        0
    }
}

fn said() -> (PromptRequest, Vec<(Kind, Value)>) {
    (PromptRequest::new("s", Vec::new()), vec![(Kind::User, json!({"text": "hi"}))])
}

fn stop_of(answer: &Answer) -> String {
    let answer: Value = serde_json::from_str(answer.as_ref().unwrap().get()).unwrap();
    answer["stopReason"].as_str().unwrap().to_owned()
}

/// What the agent said, however many entries it became.
fn story(world: &World) -> Vec<(String, String)> {
    let mut story: Vec<(String, String)> = Vec::new();
    for (kind, body) in world.bodies() {
        let body: Value = serde_json::from_str(&body).unwrap();
        let text = ["text", "status", "outcome"]
            .iter()
            .find_map(|name| body[*name].as_str())
            .unwrap_or_default()
            .to_owned();
        match story.last_mut() {
            Some((of, before)) if *of == kind && kind == "agent" => before.push_str(&text),
            _ => story.push((kind, text)),
        }
    }
    story
}

fn whole() -> Vec<(String, String)> {
    [("user", "hi"), ("agent", "Hello"), ("tool", "completed"), ("permission", "yes"), ("agent", "Done.")]
        .map(|(kind, text)| (kind.to_owned(), text.to_owned()))
        .to_vec()
}

#[tokio::test(start_paused = true)]
async fn a_turn_is_heard_told_and_answered() {
    let world = World::new(true);
    let (handle, driver) = world.go_on();
    tokio::spawn(driver);
    let (params, told) = said();
    let answer = handle.prompt(turn(), &params, told).await.unwrap();
    assert_eq!(stop_of(&answer), "end_turn");
    assert_eq!(story(&world), whole());
    assert_eq!(world.heard_by_agent().len(), 2);
    assert!(world.state.lock().unwrap().entries.iter().all(|entry| entry.turn == Some(turn())));
}

#[tokio::test(start_paused = true)]
async fn a_cancel_is_said_and_what_waits_for_permission_is_cancelled() {
    let world = World::new(false);
    let (handle, driver) = world.go_on();
    tokio::spawn(driver);
    let (params, told) = said();
    let mut prompted = pin!(handle.prompt(turn(), &params, told));
    loop {
        tokio::select! {
            _ = &mut prompted => panic!("nobody has answered"),
            () = tokio::task::yield_now() => {}
        }
        if !world.open().0.asked.is_empty() {
            break;
        }
    }
    handle.cancel(SessionId::new("s"));
    assert_eq!(stop_of(&prompted.await.unwrap()), "cancelled");
    let said: Vec<String> = world.heard_by_agent().iter().map(|line| line["method"].to_string()).collect();
    assert_eq!(said, ["\"session/prompt\"", "\"session/cancel\"", "null"]);
}

#[tokio::test(start_paused = true)]
async fn an_adapter_that_ends_leaves_what_it_said_and_no_answer() {
    let world = World::new(false);
    let (handle, driver) = world.go_on();
    let driving = tokio::spawn(driver);
    let (params, told) = said();
    let ask = handle.prompt(turn(), &params, told);
    let end = async {
        while world.open().0.asked.is_empty() {
            tokio::task::yield_now().await;
        }
        world.state.lock().unwrap().is_over = true;
        world.grown.notify_waiters();
    };
    let (answer, ()) = tokio::join!(ask, end);
    assert_eq!(answer.unwrap_err(), Over);
    assert_eq!(driving.await.unwrap(), Over);
    assert_eq!(story(&world)[..2], whole()[..2]);
}

#[tokio::test(start_paused = true)]
async fn what_was_not_kept_of_the_output_is_told_once_whoever_goes_on() {
    let world = World::new(true);
    world.print("half a message that is gone");
    world.state.lock().unwrap().lost_to = 20;
    for _ in 0..2 {
        let (_handle, driver) = world.go_on();
        let driving = tokio::spawn(driver);
        let told = async {
            while world.bodies().is_empty() {
                tokio::time::sleep(GATHER).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), told).await.unwrap();
        driving.abort();
        let _ = driving.await;
    }
    assert_eq!(world.bodies().iter().map(|(kind, _)| kind.as_str()).collect::<Vec<_>>(), ["note"]);
}

/// Drives until it was polled so often, and drops it there: as if its process was killed. Whether it got to the end.
async fn killed_after(world: &Arc<World>, polls: usize) -> bool {
    let (handle, driver) = world.go_on();
    let mut driver = Box::pin(driver);
    let (params, told) = said();
    let asks = async {
        let (open, _) = world.open();
        match open.questions.first().and_then(|line| line.asks.as_ref()) {
            Some(asks) => handle.answer_to(asks.id).await,
            None => match world.answer_to_the_first() {
                Some(answer) => Ok(answer_of(&answer)),
                None => handle.prompt(turn(), &params, told).await,
            },
        }
    };
    let mut asks = pin!(asks);
    let mut count = 0;
    std::future::poll_fn(|context| {
        if asks.as_mut().poll(context).is_ready() {
            return Poll::Ready(true);
        }
        if count == polls {
            return Poll::Ready(false);
        }
        count += 1;
        assert!(driver.as_mut().poll(context).is_pending());
        Poll::Pending
    })
    .await
}

#[tokio::test(start_paused = true)]
async fn a_driver_that_dies_anywhere_is_followed_by_one_that_goes_on_with_the_same_turn() {
    let mut deaths = 0;
    for (seed, polls) in (0..40).flat_map(|seed| (0..25).map(move |polls| (seed, polls))) {
        let world = World::new(true);
        world.seed.store(seed << 40, Ordering::Relaxed);
        // Each that follows lives a little longer, so that one gets to the end.
        let mut lives = 0;
        while !killed_after(&world, polls + lives).await {
            lives += 1;
            assert!(lives < 1_000, "it never gets to the end");
        }
        deaths += lives;
        assert_eq!(story(&world), whole(), "seed {seed}, {polls} polls");
        let heard = world.heard_by_agent();
        assert_eq!(heard.len(), 2, "nothing is said twice: {heard:?}");
    }
    assert!(deaths > 1_000, "{deaths}");
}

#[test]
fn an_answer_reads_back_as_it_was_recorded() {
    for answer in [Ok(raw(&json!({"a": [1, null]}))), Ok(raw(&())), Err(Error::method_not_found())] {
        let again = answer_of(&answer_text(&answer));
        assert_eq!(answer_text(&again), answer_text(&answer));
    }
    assert!(answer_of("{").is_err());
}

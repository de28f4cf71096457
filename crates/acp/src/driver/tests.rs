use super::*;
use crate::replay::Messages;
use crate::schema::{Error, LoadSessionRequest, PromptRequest, SessionId};
use serde_json::json;
use std::pin::pin;
use std::sync::atomic::Ordering;
use std::task::Poll;
use world::{World, turn};

mod world;

fn said() -> (PromptRequest, Vec<(Kind, Value)>) {
    (PromptRequest::new("s", Vec::new()), vec![(Kind::User, json!({"text": "hi"}))])
}

fn stop_of(answer: &Answer) -> String {
    let answer: Value = serde_json::from_str(answer.as_ref().unwrap().get()).unwrap();
    answer["stopReason"].as_str().unwrap().to_owned()
}

/// The recorded history; neighbouring texts of the agent are one.
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
    let (handle, driver) = world.resume();
    tokio::spawn(driver);
    let (params, told) = said();
    let answer = handle.prompt(turn(), &params, told).await.unwrap();
    assert_eq!(stop_of(&answer), "end_turn");
    assert_eq!(story(&world), whole());
    assert_eq!(world.heard_by_agent().len(), 2);
    assert!(world.state.lock().unwrap().entries.iter().all(|entry| entry.turn == Some(turn())));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_said_to_the_agent_before_it_is_recorded() {
    let world = World::new(true);
    let (handle, driver) = world.resume();
    tokio::spawn(driver);
    let (params, told) = said();
    let held = world.registry.lock().await;
    let freed = async {
        // The paused clock advances only when nothing else can run, so all writes are done by then.
        tokio::time::sleep(RECORD_DELAY * 3).await;
        let heard = world.heard_by_agent();
        drop(held);
        heard
    };
    let (answer, heard) = tokio::join!(handle.prompt(turn(), &params, told), freed);
    assert_eq!(heard, Vec::<Value>::new());
    assert_eq!(stop_of(&answer.unwrap()), "end_turn");
}

#[tokio::test(start_paused = true)]
async fn a_cancel_is_said_and_what_waits_for_permission_is_cancelled() {
    let world = World::new(false);
    let (handle, driver) = world.resume();
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
    let (handle, driver) = world.resume();
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
        let (_handle, driver) = world.resume();
        let driving = tokio::spawn(driver);
        // The paused clock advances only when nothing else can run, so the driver is idle by then.
        tokio::time::sleep(RECORD_DELAY * 3).await;
        driving.abort();
        let _ = driving.await;
    }
    assert_eq!(world.bodies().iter().map(|(kind, _)| kind.as_str()).collect::<Vec<_>>(), ["note"]);
}

#[tokio::test(start_paused = true)]
async fn what_an_agent_tells_again_while_it_loads_is_not_told_twice() {
    let world = World::new(true);
    let (handle, driver) = world.resume();
    tokio::spawn(driver);
    let loads = LoadSessionRequest::new("s", "/");
    let (answer, ()) = tokio::join!(handle.ask(Verb::LoadSession, &loads), async {
        tokio::time::sleep(RECORD_DELAY).await;
        let before = json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update":
            {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "of before"}}}});
        world.print(&format!("{before}\n{}\n", json!({"jsonrpc": "2.0", "id": 1, "result": {}})));
    });
    assert!(answer.unwrap().is_ok());
    let (params, told) = said();
    let second = async {
        tokio::time::sleep(RECORD_DELAY).await;
        world.print("{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"stopReason\":\"end_turn\"}}\n");
    };
    let _ = tokio::join!(handle.prompt(turn(), &params, told), second);
    assert_eq!(world.state.lock().unwrap().talk.agent_session.as_deref(), Some("s"));
    assert!(!world.bodies().iter().any(|(_, body)| body.contains("of before")), "{:?}", world.bodies());
}

/// A message chunk, as an agent prints it.
fn piece(kind: &str, text: &str) -> String {
    let update = json!({"sessionUpdate": kind, "content": {"type": "text", "text": text}});
    let params = json!({"sessionId": "s", "update": update});
    json!({"jsonrpc": "2.0", "method": "session/update", "params": params}).to_string() + "\n"
}

/// Plays an agent that answers a load and replays `one`, `OK`, `two`, `OK` afterwards, with a pause before each.
async fn late_replay(world: &World, pause: Duration) {
    tokio::time::sleep(RECORD_DELAY).await;
    world.print("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
    for (kind, text) in [("user", "one"), ("agent", "OK"), ("user", "two"), ("agent", "OK")] {
        tokio::time::sleep(pause).await;
        world.print(&piece(&format!("{kind}_message_chunk"), text));
    }
}

fn of_before() -> Messages {
    let bodies = [("user", "one"), ("agent", "OK"), ("user", "two"), ("agent", "OK")]
        .map(|(kind, text)| (kind, json!({ "text": text }).to_string()));
    Messages::recorded(bodies.iter().map(|(kind, body)| (*kind, body.as_str())))
}

fn abilities(world: &World) -> Abilities {
    Abilities::recorded(world.state.lock().unwrap().talk.abilities.as_deref())
}

#[tokio::test(start_paused = true)]
async fn a_replay_after_the_answer_is_waited_for_until_the_record_has_come() {
    let world = World::new(true);
    let (handle, driver) = world.resume();
    tokio::spawn(driver);
    let loads = LoadSessionRequest::new("s", "/");
    let opening = async {
        assert!(handle.ask(Verb::LoadSession, &loads).await.unwrap().is_ok());
        assert!(abilities(&world).is_replaying);
        let began = Instant::now();
        handle.replayed(of_before()).await.unwrap();
        began.elapsed()
    };
    let (took, ()) = tokio::join!(opening, late_replay(&world, Duration::from_millis(700)));
    assert!(took >= Duration::from_millis(2_700) && took < Duration::from_millis(4_000), "{took:?}");
    assert!(!abilities(&world).is_replaying && !abilities(&world).loads_badly);
    world.print(&piece("agent_message_chunk", "later"));
    tokio::time::sleep(RECORD_DELAY * 2).await;
    assert_eq!(world.bodies(), [("agent".to_owned(), json!({"text": "later"}).to_string())]);
}

#[tokio::test(start_paused = true)]
async fn a_replay_that_is_not_the_record_is_over_when_the_agent_is_quiet_and_is_noted() {
    let world = World::new(true);
    let (handle, driver) = world.resume();
    tokio::spawn(driver);
    let loads = LoadSessionRequest::new("s", "/");
    let opening = async {
        assert!(handle.ask(Verb::LoadSession, &loads).await.unwrap().is_ok());
        handle.replayed(Messages::default()).await.unwrap();
    };
    tokio::join!(opening, late_replay(&world, Duration::from_millis(700)));
    assert_eq!(world.bodies(), []);
    assert!(abilities(&world).loads_badly && !abilities(&world).is_replaying);
}

#[tokio::test(start_paused = true)]
async fn a_driver_that_follows_in_the_middle_of_a_replay_drops_the_rest_of_it() {
    let world = World::new(true);
    let (handle, driver) = world.resume();
    let first = tokio::spawn(driver);
    let loads = LoadSessionRequest::new("s", "/");
    let (answer, ()) = tokio::join!(handle.ask(Verb::LoadSession, &loads), async {
        tokio::time::sleep(RECORD_DELAY).await;
        world.print("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
    });
    assert!(answer.unwrap().is_ok());
    first.abort();
    let _ = first.await;
    let (handle, driver) = world.resume();
    tokio::spawn(driver);
    world.print(&piece("agent_message_chunk", "of before"));
    tokio::time::sleep(RECORD_DELAY).await;
    handle.replayed(of_before()).await.unwrap();
    assert_eq!(world.bodies(), []);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_came_before_anybody_waited_for_it_is_given_to_who_waits_then() {
    let world = World::new(true);
    let (handle, driver) = world.resume();
    let asking = tokio::spawn(driver);
    let loads = LoadSessionRequest::new("s", "/");
    let _ = tokio::time::timeout(RECORD_DELAY, handle.ask(Verb::LoadSession, &loads)).await;
    asking.abort();
    let _ = asking.await;
    let (handle, driver) = world.resume();
    tokio::spawn(driver);
    world.print(&format!("{}\n", json!({"jsonrpc": "2.0", "id": 1, "result": {}})));
    tokio::time::sleep(RECORD_DELAY).await;
    let answer = tokio::time::timeout(Duration::from_secs(60), handle.answer_to(1)).await;
    assert!(answer.expect("it is there").unwrap().is_ok());
}

/// Polls a driver so many times and drops it, as if its process was killed. Returns true if the turn ended before.
async fn killed_after(world: &Arc<World>, polls: usize) -> bool {
    let (handle, driver) = world.resume();
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
        // Each driver is polled once more than the one before, so that one completes the turn.
        let mut lives = 0;
        while !killed_after(&world, polls + lives).await {
            lives += 1;
            assert!(lives < 1_000, "no driver completes the turn");
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

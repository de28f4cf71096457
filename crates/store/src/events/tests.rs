//! The effect of every change in every state.

use super::journal::{MOST_SIGNALS, ToldOfJournal};
use super::*;
use tenure_core::ending::{Cause, Termination};
use tenure_core::journal::{JournalEntry, JournalEvent, Proof, Target};
use tenure_core::record::{self, Ticket};
use tenure_core::signal::Signal;

fn row(state: State, note: Option<KeeperNote>) -> RunRow {
    let ticket: Ticket = record::decode(include_bytes!("../../../core/fixtures/ticket-v1")).unwrap();
    let hold = Hold { instance: ticket.owner_instance_id.clone(), epoch: 3 };
    RunRow {
        ticket,
        directory: "/state/runs/1".into(),
        asked_by: "uid 1000".into(),
        hold,
        expires_at_ms: 0,
        state,
        cause: Some(Cause::ManualCancel),
        note,
        ending: None,
        hidden: false,
        updated_at_ms: 0,
        foreign: false,
    }
}

fn note() -> KeeperNote {
    record::decode(include_bytes!("../../../core/fixtures/keeper-v1")).unwrap()
}

fn ending(termination: Termination) -> Change {
    let ending: Ending = record::decode(include_bytes!("../../../core/fixtures/ending-v1")).unwrap();
    Change::Ended(Box::new(Ending { termination, ..ending }))
}

#[test]
fn every_change_moves_forward_or_is_no_news() {
    use State::{Exited, Exiting, Running, Starting};
    let started = Change::Started(Box::new(note()));
    let leaving = Change::Leaving { cause: None, detail: None };
    let ended = ending(Termination::new(Reason::Exit, None, None));
    let table = [
        (Starting, [Some(Running), Some(Exiting), Some(Exited)]),
        (Running, [Some(Running), Some(Exiting), Some(Exited)]),
        (Exiting, [Some(Exiting), None, Some(Exited)]),
        (Exited, [None, None, None]),
    ];
    for (state, expected) in table {
        for (change, expected) in [&started, &leaving, &ended].into_iter().zip(expected) {
            let effects = effects(&row(state, None), change, 7);
            assert_eq!(effects.as_ref().map(|effects| effects.state), expected, "{state}: {change:?}");
            assert!(effects.is_none_or(|effects| effects.events.len() == 1));
        }
        assert_eq!(effects(&row(state, Some(note())), &started, 7), None, "it is noted already");
    }
}

#[test]
fn an_event_says_what_is_known_and_nothing_else() {
    let mut termination = Termination::new(Reason::ManualCancel, None, None);
    termination.signal = Some(9);
    termination.leftovers = 2;
    termination.survivors = (0..40).map(|pid| ProcessNote { pid, exe: None }).collect();
    let effects = effects(&row(State::Exiting, None), &ending(termination), 7).unwrap();
    let event = &effects.events[0];
    assert_eq!((event.at_ms, event.kind.as_str()), (7, "run-ended"));
    assert_eq!(event.detail["cause"], "manual-cancel");
    assert_eq!((&event.detail["signal"], &event.detail["leftovers"]), (&9.into(), &2.into()));
    assert_eq!(event.detail["survivors"].as_array().unwrap().len(), NAMED);
    assert_eq!(event.detail["survivorsTotal"], 40);
    let fields = event.detail.as_object().unwrap();
    assert!(!fields.contains_key("exitCode") && !fields.contains_key("escapees"), "{fields:?}");
}

#[test]
fn the_words_are_frozen() {
    let words = [
        kind::RUN_CREATED,
        kind::RUN_STARTED,
        kind::RUN_LEAVING,
        kind::RUN_ENDED,
        kind::LEASE_STOLEN,
        kind::RUN_HIDDEN,
        kind::RUN_REMOVED,
        kind::INSTANCE_ENROLLED,
        kind::INSTANCE_UNSEATED,
        kind::SESSION_CREATED,
        kind::SESSION_CLOSING,
        kind::SESSION_CLOSED,
        kind::SESSION_REMOVED,
        kind::TURN_STARTED,
        kind::TURN_ENDED,
        kind::MESSAGE_QUEUED,
        kind::MESSAGE_WITHDRAWN,
    ];
    let expected = "run-created run-started run-leaving run-ended lease-stolen run-hidden run-removed \
                    instance-enrolled instance-unseated session-created session-closing session-closed session-removed \
                    turn-started turn-ended message-queued message-withdrawn";
    assert_eq!(words.join(" "), expected);
}

fn journal(what: impl IntoIterator<Item = JournalEvent>) -> Vec<JournalEntry> {
    (1..).zip(what).map(|(at_ms, what)| JournalEntry { at_ms, what }).collect()
}

fn signalled(pid: i32) -> JournalEvent {
    let target = Target::Process { pid, start_time: 1 };
    JournalEvent::Signalled { signal: Signal::KILL, target, proof: Proof::Adopted }
}

#[test]
fn a_signals_event_says_what_was_sent_to_whom_and_by_what_proof() {
    let entries = journal([JournalEvent::FirstOutput, signalled(7)]);
    let events = journal::events(&row(State::Exiting, None), &entries, &ToldOfJournal::default());
    let [event] = &events[..] else { panic!("{events:?}") };
    assert_eq!((event.kind.as_str(), event.at_ms), (kind::RUN_SIGNALLED, 2));
    let target = json!({ "kind": "process", "pid": 7, "startTime": 1 });
    let detail =
        json!({ "signal": 9, "signalName": "SIGKILL", "target": target, "proof": "adopted", "entry": 1 });
    assert_eq!(event.detail, detail);
}

#[test]
fn a_bomb_makes_few_events_and_they_say_that_there_is_more() {
    let entries = journal((0..10_000).map(signalled));
    let most = usize::try_from(MOST_SIGNALS).unwrap();
    let row = row(State::Exiting, None);
    let events = journal::events(&row, &entries, &ToldOfJournal::default());
    assert_eq!(events.len(), most + 1);
    assert_eq!(events[most].detail["more"], true);
    assert!(events[..most].iter().all(|event| event.detail["proof"] == "adopted"));
    // A journal that is read in pieces gives the same events.
    let first = journal::events(&row, &entries[..=most], &ToldOfJournal::default());
    assert_eq!(first, events);
    let told = ToldOfJournal { next: MOST_SIGNALS + 1, signals: MOST_SIGNALS + 1 };
    assert_eq!(journal::events(&row, &entries, &told), []);
}

#[test]
fn who_outlived_the_command_is_named_and_many_are_counted() {
    let processes = |count| (1..=count).map(|pid| ProcessNote { pid, exe: Some("/bin/x".into()) }).collect();
    let entries = journal([
        JournalEvent::Escapees { processes: processes(1) },
        JournalEvent::Leftovers { count: 300, processes: processes(32) },
    ]);
    let events = journal::events(&row(State::Exiting, None), &entries, &ToldOfJournal::default());
    assert!(events.iter().all(|event| event.kind == kind::RUN_ESCAPED));
    assert_eq!(events[0].detail, json!({ "which": "escapee", "pid": 1, "exe": "/bin/x", "entry": 0 }));
    assert_eq!(events.len(), 1 + NAMED + 1);
    assert_eq!(events[1 + NAMED].detail, json!({ "which": "leftover", "more": 300 - NAMED, "entry": 1 }));
}

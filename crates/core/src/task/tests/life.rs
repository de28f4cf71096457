//! Every state with every event, and properties of every order of events.

use super::*;
use End::{Cancelled, Failed, Succeeded, TimedOut};
use proptest::prelude::*;

const EVENTS: [Event; 8] = [
    Event::Started,
    Event::Progressed,
    Event::CancelAsked,
    Event::Ended(Succeeded),
    Event::Ended(Failed),
    Event::Ended(TimedOut),
    Event::Ended(Cancelled),
    Event::Lost,
];

/// The result of each of [`EVENTS`] in each state: the new state and the notice, or the refusal.
#[rustfmt::skip]
const TABLE: [(&str, [&str; 8]); 7] = [
    //             started    progressed  cancel-asked  succeeded     failed     timed out     cancelled     lost
    ("queued",    ["running+", "not begun", "queued",   "succeeded!", "failed!", "timed_out!", "cancelled!", "lost!"]),
    ("running",   ["running",  "running+",  "running",  "succeeded!", "failed!", "timed_out!", "cancelled!", "lost!"]),
    ("succeeded", ["over",     "over",      "over",     "over",       "over",    "over",       "over",       "over"]),
    ("failed",    ["over",     "over",      "over",     "over",       "over",    "over",       "over",       "over"]),
    ("timed_out", ["over",     "over",      "over",     "over",       "over",    "over",       "over",       "over"]),
    ("cancelled", ["over",     "over",      "over",     "over",       "over",    "over",       "over",       "over"]),
    ("lost",      ["over",     "over",      "over",     "succeeded~", "failed~", "timed_out~", "cancelled~", "over"]),
];

/// `+` is a change, `!` the end, `~` a correction; a refused second start is "running" without a mark.
fn shown(from: Status, event: Event) -> String {
    match step(from, event) {
        Ok(Step { to, tells }) => {
            let mark = match tells {
                None => "",
                Some(Telling::Change) => "+",
                Some(Telling::Terminal) => "!",
                Some(Telling::Correction) => "~",
            };
            format!("{to}{mark}")
        }
        Err(Refused::Over(Over { status })) => {
            assert_eq!(status, from);
            "over".to_owned()
        }
        Err(Refused::NotBegun) => "not begun".to_owned(),
        Err(Refused::Running) => "running".to_owned(),
    }
}

#[test]
fn every_state_and_event_is_as_the_table_says() {
    assert!(TABLE.iter().map(|(word, _)| *word).eq(Status::ALL.iter().map(|status| status.word())));
    for (word, cells) in TABLE {
        let from: Status = word.parse().unwrap();
        for (event, cell) in EVENTS.into_iter().zip(cells) {
            assert_eq!(shown(from, event), cell, "{from} with {event:?}");
        }
    }
    assert_eq!(step(Status::Running, Event::Started), Err(Refused::Running));
}

#[test]
fn a_task_that_is_over_says_how_it_is() {
    let refused = step(Status::TimedOut, Event::CancelAsked).unwrap_err();
    assert_eq!(refused.to_string(), "the task is timed_out already: nothing is left to change");
}

proptest! {
    /// However often and in whatever order events arrive: one end is told, and one correction if the task was
    /// called lost.
    #[test]
    fn the_end_is_told_once_whatever_happens(order in prop::collection::vec(0..EVENTS.len(), 0..24)) {
        let mut status = Status::Queued;
        let (mut ends, mut corrections) = (0, 0);
        for event in order.into_iter().map(|at| EVENTS[at]) {
            let before = status;
            let Ok(step) = step(status, event) else { continue };
            match step.tells {
                Some(Telling::Terminal) => ends += 1,
                Some(Telling::Correction) => corrections += 1,
                Some(Telling::Change) | None => {}
            }
            status = step.to;
            prop_assert!(!before.is_terminal() || (before == Status::Lost && status != Status::Lost));
            prop_assert!(before != Status::Running || status != Status::Queued);
        }
        prop_assert_eq!(ends, u32::from(status.is_terminal()));
        prop_assert!(corrections <= 1);
        prop_assert!(corrections == 0 || status != Status::Lost);
    }

    /// The row follows its status, and its times stay in order whatever the clocks say.
    #[test]
    fn the_times_of_a_row_are_in_their_order(
        order in prop::collection::vec((0..EVENTS.len(), 0_u64..2_000_000, 0_u64..2_000_000), 0..16)
    ) {
        let mut row = task();
        for (at, seen, now) in order {
            let (seen, now) = (NOW - 1_000_000 + seen, NOW - 1_000_000 + now);
            let expected = step(row.status, EVENTS[at]);
            let done = match EVENTS[at] {
                Event::Started => row.start(seen, now),
                Event::Progressed => row.go_on(&Progress::from("on".to_owned()), now),
                Event::CancelAsked => row.ask_cancel(now),
                Event::Ended(end) => row.end(verdict(Some(end)), seen, now),
                Event::Lost => row.end(verdict(None), seen, now),
            };
            prop_assert_eq!(done.map(|(step, _)| step), expected);
            prop_assert!(audit(&row, true, None, NOW).is_empty(), "{row:?}");
            prop_assert!(row.last_event_at_ms >= row.created_at_ms);
        }
    }
}

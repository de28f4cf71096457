//! The events in a keeper's journal: each signal with its target and proof, and each process that outlived the
//! command. The journal is read again and again, so each event says which entry it came from.

use super::{NAMED, kind, of_run};
use crate::rows::{NewEvent, RunRow};
use serde_json::{Value, json};
use tenure_core::ending::ProcessNote;
use tenure_core::journal::{JournalEntry, JournalEvent};

/// Maximum number of `run-signalled` events of one run. A bomb takes thousands of signals, and nobody reads them.
pub(crate) const MOST_SIGNALS: u64 = 50;

/// The part of a run's journal that was told before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ToldOfJournal {
    /// The index of the next entry to tell.
    pub(crate) next: u64,
    /// The number of `run-signalled` events, including the one that says that there are more.
    pub(crate) signals: u64,
}

/// Returns the events of the entries that were not told yet, in their order.
pub(crate) fn events(run: &RunRow, journal: &[JournalEntry], told: &ToldOfJournal) -> Vec<NewEvent> {
    let mut signals = told.signals;
    let mut events = Vec::new();
    let new = (0..).zip(journal).filter(|&(place, _)| place >= told.next);
    for (place, JournalEntry { at_ms, what }) in new {
        let (kind, details) = match what {
            JournalEvent::Signalled { .. } | JournalEvent::MoreNotWritten => {
                signals += 1;
                (kind::RUN_SIGNALLED, signal(what, signals).into_iter().collect())
            }
            JournalEvent::Leftovers { count, processes } => {
                (kind::RUN_ESCAPED, escaped("leftover", processes, *count as usize))
            }
            JournalEvent::Escapees { processes } => {
                (kind::RUN_ESCAPED, escaped("escapee", processes, processes.len()))
            }
            JournalEvent::Started { .. }
            | JournalEvent::FirstOutput
            | JournalEvent::Exiting { .. }
            | JournalEvent::GivenUp
            | JournalEvent::Survivors { .. }
            | JournalEvent::HolderLost
            | JournalEvent::HolderBack { .. }
            | JournalEvent::HolderReleased
            | JournalEvent::EpochRefused { .. }
            | JournalEvent::HolderAsked { .. }
            | JournalEvent::HolderRefused { .. } => continue,
        };
        for mut detail in details {
            detail["entry"] = json!(place);
            events.push(of_run(run, &run.hold.instance, kind, detail, *at_ms));
        }
    }
    events
}

/// Returns a signal's detail, if it is the `nth` of its run; the one after the last says that there are more.
fn signal(what: &JournalEvent, nth: u64) -> Option<Value> {
    match what {
        _ if nth > MOST_SIGNALS + 1 => None,
        JournalEvent::Signalled { signal, target, proof } if nth <= MOST_SIGNALS => Some(json!({
            "signal": signal,
            "signalName": signal.to_string(),
            "target": target,
            "proof": proof,
        })),
        _ => {
            Some(json!({ "more": true, "detail": "more signals were sent: `tenure why` shows the journal" }))
        }
    }
}

/// Returns one detail per named process, and one for the number of the others.
fn escaped(which: &str, processes: &[ProcessNote], count: usize) -> Vec<Value> {
    let named = &processes[..processes.len().min(NAMED)];
    let mut details: Vec<Value> = named
        .iter()
        .map(|process| json!({ "which": which, "pid": process.pid, "exe": process.exe }))
        .collect();
    if count > named.len() {
        details.push(json!({ "which": which, "more": count - named.len() }));
    }
    details
}

use crate::poll::{self, Interest};
use crate::signals::{self, Signals};
use std::time::Duration;

#[test]
fn a_queue_that_nobody_has_written_to_is_empty_and_wakes_nobody() {
    let signals = Signals::take(&[signals::WINDOW]).unwrap();
    assert_eq!(signals.next(), None);
    let ready = poll::wait(&[Interest::reading(&signals)], Some(Duration::ZERO)).unwrap();
    assert!(!ready[0].read);
}

#[test]
fn what_is_ignored_is_known_to_be() {
    let background = signals::BACKGROUND;
    signals::ignore(&background).unwrap();
    assert!(background.into_iter().all(signals::is_ignored));
}

//! Every policy, mode, origin, owner and occasion of routing.

use super::*;
use DeliveryStatus::{NotApplicable, ParentMissing, Pending, SessionQueued};
use Interaction::{Interactive, ParentOwnedBackground};
use NotifyPolicy::{DoneOnly, Silent, StateChanges};
use Occasion::{Change, Correction, Speech, Terminal, Typing};
use Standing::{Nobody, Open, Over};

const NONE: bool = false;
const SLACK: bool = true;

/// The destination of a notice, by channel and state of the owner.
#[rustfmt::skip]
const NOTICES: [(bool, Standing, (bool, bool, DeliveryStatus)); 6] = [
    //                 to origin, to session
    (SLACK, Nobody, (true,  false, Pending)),
    (SLACK, Open,   (true,  false, Pending)),
    (SLACK, Over,   (true,  false, Pending)),
    (NONE,  Nobody, (false, false, NotApplicable)),
    (NONE,  Open,   (false, true,  SessionQueued)),
    (NONE,  Over,   (false, false, ParentMissing)),
];

/// The notices that each policy tells.
#[rustfmt::skip]
const TOLD: [(NotifyPolicy, [(Occasion, bool); 3]); 3] = [
    (DoneOnly,     [(Change, false), (Terminal, true),  (Correction, true)]),
    (StateChanges, [(Change, true),  (Terminal, true),  (Correction, true)]),
    (Silent,       [(Change, false), (Terminal, false), (Correction, false)]),
];

/// True for speech and typing signals of a session that reach the channel.
#[rustfmt::skip]
const SPEECH: [(Interaction, bool, bool); 4] = [
    (Interactive,           SLACK, true),
    (Interactive,           NONE,  false),
    (ParentOwnedBackground, SLACK, false),
    (ParentOwnedBackground, NONE,  false),
];

fn settings() -> impl Iterator<Item = Setting> {
    let modes = Interaction::ALL.iter().copied();
    modes.flat_map(|interaction| {
        NotifyPolicy::ALL.iter().flat_map(move |&policy| {
            NOTICES.map(|(has_origin, owner, _)| Setting { interaction, has_origin, owner, policy })
        })
    })
}

#[test]
fn notices_go_where_the_table_says() {
    let mut cells = 0;
    for setting in settings() {
        let (_, of_policy) = TOLD.into_iter().find(|(policy, _)| *policy == setting.policy).unwrap();
        for (occasion, is_told) in of_policy {
            let (.., told) = NOTICES
                .into_iter()
                .find(|(origin, owner, _)| (*origin, *owner) == (setting.has_origin, setting.owner))
                .unwrap();
            let (to_origin, to_session, delivery) =
                if is_told { told } else { (false, false, NotApplicable) };
            let in_background = setting.interaction == ParentOwnedBackground;
            let expected = Routing {
                to_origin,
                to_session,
                delivery,
                suppress_chatter: in_background,
                suppress_typing: in_background,
            };
            assert_eq!(route(setting, occasion), expected, "{setting:?} {occasion:?}");
            cells += 1;
        }
    }
    assert_eq!(cells, 2 * 3 * 6 * 3);
}

#[test]
fn what_a_session_in_the_background_says_reaches_no_channel_and_neither_does_its_typing() {
    let mut cells = 0;
    for setting in settings() {
        let (.., reaches) = SPEECH
            .into_iter()
            .find(|(mode, origin, _)| (*mode, *origin) == (setting.interaction, setting.has_origin))
            .unwrap();
        for occasion in [Speech, Typing] {
            let got = route(setting, occasion);
            assert_eq!((got.to_origin, got.to_session), (reaches, false), "{setting:?} {occasion:?}");
            assert_eq!(got.suppress_chatter, setting.interaction == ParentOwnedBackground);
            assert_eq!(got.suppress_typing, got.suppress_chatter, "{setting:?}");
            assert_eq!(got.delivery, NotApplicable);
            cells += 1;
        }
    }
    assert_eq!(cells, 2 * 3 * 6 * 2);
}

#[test]
fn nothing_goes_two_ways() {
    for setting in settings() {
        for occasion in [Speech, Typing, Change, Terminal, Correction] {
            let got = route(setting, occasion);
            assert!(!(got.to_origin && got.to_session), "{setting:?} {occasion:?}");
        }
    }
}

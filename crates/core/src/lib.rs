//! The decisions of Tenure. Every function is a pure function of its arguments: `core` has no clock, file, thread,
//! process, environment or log; it takes `now`. The other crates act.
#![forbid(unsafe_code)]
// A decision names every case, so that a new variant is a compile error there.
#![cfg_attr(not(test), deny(clippy::wildcard_enum_match_arm, clippy::match_wildcard_for_single_variants))]

pub mod api;
pub mod daemon_lock;
pub mod defaults;
pub mod detach;
pub mod diff;
pub mod duration;
pub mod ending;
pub mod hash;
pub mod identity;
pub mod ids;
pub mod journal;
pub mod keys;
pub mod lease;
pub mod limits;
pub mod location;
pub mod output;
pub mod policy;
pub mod problem;
pub mod receipt;
pub mod reconcile;
pub mod record;
pub mod redact;
pub mod resources;
pub mod run_json;
pub mod session;
pub mod signal;
pub mod spec;
pub mod state;
pub mod talk;
pub mod task;
pub mod tools;
pub mod visible;
pub mod wall;
pub mod watch;
pub mod watchdog;
pub mod wire;
pub mod words;

//! ACP agents: a session's adapter is one run that goes on from turn to turn. `ensuring` has one there, `joining` its
//! conversation open, `turn` carries out a turn with it, `silence` ends one that says and does nothing, `hosting` is what the protocol's driver (crate `acp`) stands on: the
//! run's output and input by their offsets, and the record. What the agent wants is answered in `wants` (files,
//! terminals, permission). `leaving` lets go of adapters: at a close, after long idleness, after their end; `remains` hears
//! what was said by one that ended while nobody listened.

mod adapter;
mod allowed;
mod ends;
mod ensuring;
mod files;
mod hosting;
mod joining;
mod leaving;
mod looking;
mod permits;
mod remains;
mod silence;
mod terminals;
mod turn;
mod updates;
mod wants;

pub(crate) use adapter::Adapters;
pub(crate) use permits::{Choice, Permission};
pub(crate) use updates::{Followed, Update};

//! A run's terminal as it stands. A [`Screen`] is made from the run's output on disk, follows it, and can be dropped
//! and opened again at little cost: what was replayed is kept in a checkpoint. A [`Scanner`] costs a few bytes and
//! says whether output holds something that is worth a screen: a question that the program asks its terminal. A
//! [`ModeTracker`] says how to undo what output did to the terminal that it was copied to.
//! This crate reads; what it has to say to the program is for others to type.
#![forbid(unsafe_code)]

mod answer;
mod checkpoint;
mod paint;
mod scanner;
mod screen;
mod terminal;
mod undo;
mod view;

#[cfg(test)]
mod tests;

pub use scanner::{Colour, Query, Scanner, Spotted};
pub use screen::Screen;
pub use undo::ModeTracker;
pub use view::{Cursor, Modes, View};

/// Why there is no screen.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The output cannot be read.
    #[error(transparent)]
    Output(#[from] tenure_output::Error),
}

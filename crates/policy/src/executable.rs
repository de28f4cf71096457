//! The programs of a command line: the file that a word means, and the check that this file is still the same right
//! before it is executed.

mod bound;
mod find;

#[cfg(test)]
#[cfg(unix)]
mod tests;

pub use bound::{Bound, Changed, Content, Unbindable, What};
pub use find::{Executable, NotFound, resolve};

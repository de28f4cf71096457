//! The programs that a command line names: which file a word means, and whether that file is still the same when it is
//! about to be executed.

mod bound;
mod find;

#[cfg(test)]
#[cfg(unix)]
mod tests;

pub use bound::{Bound, Changed, Content, Unbindable, What};
pub use find::{Executable, NotFound, resolve};

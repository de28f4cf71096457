//! Support for the OS matrix: an installation of Tenure, driven by its command line as a user drives it, and players as
//! its commands. It is one text for every system; [`exceptions`] lists the gaps of each system. Only processes that a
//! test has identified are killed.

pub mod audit;
pub mod exceptions;
pub mod held_process;
pub mod install;
pub mod player_log;
pub mod records;

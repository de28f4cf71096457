//! The kit of the OS matrix: an installation of Tenure, driven by its command line as a user drives it, and players as its
//! commands. It is one text for every system; [`exceptions`] lists what a system cannot do. Nothing here ends anything
//! but what a test has identified.

pub mod audit;
pub mod book;
pub mod exceptions;
pub mod home;
pub mod known;
pub mod records;

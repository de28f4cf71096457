//! The additional promises of the embedded registry: about its file (`file`, `shapes`, `disk`), processes that
//! share it (`sharing`), processes that die (`crash`), and its speed (`figures`, `session_figures` and
//! `task_figures`, by hand).

mod crash;
mod disk;
mod figures;
mod file;
mod helper;
#[cfg(unix)]
mod mode;
mod session_figures;
mod shapes;
mod sharing;
mod task_figures;

//! ACP agents: conversations, permissions, files, crashes of agent and daemon.

mod cancel;
mod close;
mod crash;
mod crash_points;
mod files;
mod lifecycle;
mod misbehaviour;
mod permissions;
mod turns;
mod updates;

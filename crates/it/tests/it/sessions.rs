//! Sessions: rows, turns, visibility, closing.

mod bad_input;
mod close;
mod close_rules;
mod crash;
mod forgery;
mod many;
mod mcp;
mod odd_turns;
mod rows;
mod turn_ends;
mod turns;

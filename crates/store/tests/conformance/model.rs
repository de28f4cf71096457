//! The registry against a simple model of it.

//! The embedded registry.

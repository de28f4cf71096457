//! What the embedded registry promises besides.

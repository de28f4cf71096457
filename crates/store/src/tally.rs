//! What each change of a run is told and counted as.

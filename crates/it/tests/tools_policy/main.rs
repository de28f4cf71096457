//! What the exec tool may run: the modes (`modes`), the question to a person (`asking`, `answers`), what waits (`waiting`),
//! who may answer (`who`), that what runs is what was allowed (`identity`), lines that try to run something else
//! (`attack`), and the environment (`environment`).

mod answers;
mod asking;
mod attack;
mod desk;
mod environment;
mod identity;
mod modes;
mod waiting;
mod who;

//! What the exec tool may run: the modes (`modes`), the question to a person (`asking`, `answers`), what waits (`waiting`),
//! who may answer (`who`), that what runs is what was allowed (`identity`), lines that try to run something else
//! (`attack`), the environment (`environment`), the variables of a call (`variables`), and arguments by
//! which a listed program writes or looks elsewhere (`reach`).

mod answers;
mod asking;
mod attack;
mod desk;
mod environment;
mod identity;
mod modes;
mod reach;
mod variables;
mod waiting;
mod who;

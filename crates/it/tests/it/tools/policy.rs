//! Exec policy: the modes (`modes`), the question to a person (`asking`, `answers`), pending questions (`waiting`),
//! approvers (`approvers`), that the approved program is the one that runs (`identity`), lines that try to run another
//! program (`attack`), the environment (`environment`), the variables of a call (`variables`), and arguments by which a
//! listed program writes or reads elsewhere (`reach`).

mod answers;
mod approvers;
mod asking;
mod attack;
mod environment;
mod fixture;
mod identity;
mod modes;
mod reach;
mod variables;
mod waiting;

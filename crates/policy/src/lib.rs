//! The policy for an agent's `exec` tool. The steps of a call, in order: [`environment`] refuses variables that
//! would smuggle in code, [`shell`] parses the command line, [`executable`] finds and pins its programs,
//! [`allowlist`] matches each of them. The decision itself is `tenure_core::policy::decide`.
//! These are pure. [`authorize`] puts them together for a call that [`exec_spec`] has read, and [`Approvals`] asks
//! people about what is neither allowed nor denied.
//!
//! ```
//! use std::{ffi::OsStr, path::Path};
//! use tenure_policy::allowlist::{Allowlist, Call, Caller, Entry};
//! use tenure_policy::environment::judge;
//! use tenure_policy::executable::{Bound, resolve};
//! use tenure_policy::shell::{analyse, render};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let entry = |program: &str| Entry { program: program.into(), args: None, exact: None, agent: None };
//! let allowlist = Allowlist::new(vec![entry("echo"), entry("/usr/bin/wc")])?;
//! let (cwd, path) = (Path::new("/"), OsStr::new("/usr/bin:/bin"));
//! let analysis = analyse("echo 'a b' | wc -c")?;
//! let find = |segment: &tenure_policy::shell::Segment| resolve(segment.program(), cwd, path);
//! let programs = analysis.segments().iter().map(find).collect::<Result<Vec<_>, _>>()?;
//! let calls: Vec<_> = analysis.segments().iter().zip(&programs).map(|(it, at)| Call::of(it, at, None)).collect();
//! let env = judge([("LANG", "C")])?;
//! assert_eq!(allowlist.matches(Caller { agent: None, cwd, env: &env }, &calls)?, [0, 1]);
//! let bounds = programs.iter().map(Bound::of_executable).collect::<Result<Vec<_>, _>>()?;
//! // Somebody may be asked here. Then, right before it is executed:
//! bounds.iter().try_for_each(Bound::check)?;
//! let called: Vec<_> = programs.into_iter().map(|program| program.called).collect();
//! assert_eq!(render(&analysis, &called)?, "'/usr/bin/echo' 'a b' | '/usr/bin/wc' '-c'");
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

pub mod allowlist;
pub mod allowlist_entries;
pub mod approval_text;
pub mod approvals;
pub mod authorize;
pub mod environment;
pub mod exec_spec;
pub mod executable;
pub mod shell;
pub mod turn_command;
pub mod user_shell;

pub use approvals::Approvals;

#[cfg(test)]
#[cfg(unix)]
mod random;

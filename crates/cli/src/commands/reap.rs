//! `tenure reap`: find and clean up orphaned runs.

use crate::args::ReapArgs;
use crate::failure::Failure;
use crate::{daemon_client, print, settings};
use tenure_core::api::{ReapRequest, Selector};

pub(crate) fn run(args: &ReapArgs) -> Result<u8, Failure> {
    let client = daemon_client::require(&settings::load_leniently()?)?;
    let which = Selector {
        run: args.run.clone(),
        scope: None,
        session: args.session.clone(),
        agent: args.agent.clone(),
    };
    let lines = daemon_client::call(client.reap(&ReapRequest { dry_run: args.dry_run, which }))?;
    if args.json {
        print::json(&lines)?;
        return Ok(0);
    }
    for line in &lines {
        let outcome = line.outcome.as_ref().map_or(String::new(), |outcome| format!(" → {outcome}"));
        print::line(&format!(
            "{}  {}{outcome}",
            print::short(line.run_id.as_str()),
            print::escaped(&line.evidence)
        ))?;
    }
    if lines.is_empty() {
        print::line("no orphaned runs")?;
    }
    Ok(0)
}

//! `tenure why`: explain a run, by its events and records.

use crate::args::WhyArgs;
use crate::failure::Failure;
use crate::print::{self, Context};
use crate::{daemon_client, settings};
use tenure_core::api::StoryLine;

pub(crate) fn run(args: &WhyArgs) -> Result<u8, Failure> {
    let client = daemon_client::require(&settings::load_leniently()?)?;
    let story = daemon_client::call(client.why(&args.id))?;
    if args.json {
        print::json(&story)?;
        return Ok(0);
    }
    print::lines(&lines(&Context::of_stdout(), &story))?;
    Ok(0)
}

/// Formats the lines of a run's story.
pub(crate) fn lines(context: &Context, story: &[StoryLine]) -> Vec<String> {
    let format = |line: &StoryLine| {
        let (at, text) = (context.exact(line.at_ms), print::escaped(&line.text));
        format!("{at}  {:8}  {:<16}  {text}", line.source, line.what)
    };
    story.iter().map(format).collect()
}

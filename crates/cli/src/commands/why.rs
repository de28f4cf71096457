//! `tenure why`: a run's whole story.

use crate::args::WhyArgs;
use crate::failure::Failure;
use crate::print::{self, Context};
use crate::{reach, settings};
use tenure_core::api::StoryLine;

pub(crate) fn run(args: &WhyArgs) -> Result<u8, Failure> {
    let client = reach::needed(&settings::load_to_look()?)?;
    let story = reach::wait(client.why(&args.id))?;
    if args.json {
        print::json(&story)?;
        return Ok(0);
    }
    print::lines(&lines(&Context::of_stdout(), &story))?;
    Ok(0)
}

/// The lines of a story.
pub(crate) fn lines(context: &Context, story: &[StoryLine]) -> Vec<String> {
    let told = |line: &StoryLine| {
        let (at, text) = (context.exact(line.at_ms), print::escaped(&line.text));
        format!("{at}  {:8}  {:<16}  {text}", line.source, line.what)
    };
    story.iter().map(told).collect()
}

//! `tenure why`: a run's whole story.

use crate::args::WhyArgs;
use crate::failure::Failure;
use crate::{print, reach, settings};

pub(crate) fn run(args: &WhyArgs) -> Result<u8, Failure> {
    let client = reach::needed(&settings::load_to_look()?)?;
    let story = reach::wait(client.why(&args.id))?;
    if args.json {
        print::json(&story)?;
        return Ok(0);
    }
    for line in &story {
        let at = print::exact(line.at_ms);
        print::line(&format!("{at}  {:8}  {:<16}  {}", line.source, line.what, print::escaped(&line.text)))?;
    }
    Ok(0)
}

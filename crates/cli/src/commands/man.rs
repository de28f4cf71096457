//! `tenure man`: write the manual pages, from the texts of the help.

use crate::args::{self, HelpSections, ManArgs};
use crate::failure::Failure;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use std::io;
use std::path::Path;

pub(crate) fn run(args: &ManArgs) -> Result<u8, Failure> {
    let mut root = args::definition().disable_help_subcommand(true);
    root.build();
    std::fs::create_dir_all(&args.dir).and_then(|()| write_pages(&root, &args.dir)).map_err(|error| {
        Failure::refused(format!("the manual pages cannot be written to \"{}\": {error}", args.dir.display()))
    })?;
    Ok(0)
}

/// Writes the pages of a verb and of the verbs below it.
fn write_pages(command: &clap::Command, dir: &Path) -> io::Result<()> {
    for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
        write_pages(verb, dir)?;
    }
    std::fs::write(dir.join(Man::new(command.clone()).get_filename()), page(command)?)
}

/// Renders a manual page. Exit codes and examples have sections of their own.
fn page(command: &clap::Command) -> io::Result<Vec<u8>> {
    let man =
        Man::new(command.clone()).source(concat!("tenure ", env!("CARGO_PKG_VERSION"))).manual("Tenure");
    let sections = HelpSections::of(command);
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    let mut notes = Roff::new();
    for note in sections.notes {
        notes.control("PP", []).text([roman(note)]);
    }
    notes.to_writer(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.get_subcommands().any(|verb| !verb.is_hide_set()) {
        man.render_subcommands_section(&mut page)?;
    }
    for (heading, lines) in sections.headed {
        let mut section = Roff::new();
        let title = if heading == "Exit codes" { "EXIT STATUS".to_owned() } else { heading.to_uppercase() };
        section.control("SH", [title.as_str()]);
        for line in lines {
            // A line of an example is kept as it is; other lines are a word and its meaning.
            match line.split_once("  ") {
                Some((word, meaning)) if title != "EXAMPLES" => {
                    section.control("TP", []).text([bold(word)]).text([roman(meaning.trim_start())])
                }
                _ => section.control("PP", []).text([roman(line)]),
            };
        }
        section.to_writer(&mut page)?;
    }
    if command.get_version().is_some() {
        man.render_version_section(&mut page)?;
    }
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_and_examples_have_their_own_sections() {
        let mut root = args::definition();
        root.build();
        let page = page(root.find_subcommand("run").unwrap()).unwrap();
        let page = String::from_utf8(page).unwrap();
        let after = |heading: &str| page.split_once(&format!(".SH {heading}\n")).expect(heading).1;
        assert!(after("\"EXIT STATUS\"").contains("\\fB124\\fR\na time limit ended the run\n"), "{page}");
        assert!(after("EXAMPLES").starts_with(".PP\ntenure run \\-\\- npm test\n.PP\n"), "{page}");
        assert!(!page.contains("EXTRA") && !page.contains('\x1b'), "{page}");
    }
}

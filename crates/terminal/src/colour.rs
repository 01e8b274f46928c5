//! Colours, and the width of the terminal: only for people, never in a pipe.

use anstream::{AutoStream, ColorChoice};
use anstyle::Style;
use rustix::termios::tcgetwinsize;
use std::io::{self, IsTerminal};

/// `--color` overrides the environment: NO_COLOR, CLICOLOR, CLICOLOR_FORCE and TERM.
pub fn choose(choice: ColorChoice) {
    choice.write_global();
}

/// Does standard error get colours?
pub fn is_on_stderr() -> bool {
    AutoStream::choice(&io::stderr()) != ColorChoice::Never
}

/// A heading or a label, if standard output gets colours.
pub fn strong(text: &str) -> String {
    match AutoStream::choice(&io::stdout()) {
        ColorChoice::Never => text.to_owned(),
        _ => styled(text),
    }
}

fn styled(text: &str) -> String {
    let style = Style::new().bold();
    format!("{style}{text}{style:#}")
}

/// The columns of the terminal on standard output; none if it is no terminal, or does not say.
pub fn width() -> Option<usize> {
    let stdout = io::stdout();
    let size = if stdout.is_terminal() { tcgetwinsize(&stdout).ok() } else { None };
    size.map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_style_ends_where_the_text_does() {
        assert_eq!(super::styled("cycle"), "\u{1b}[1mcycle\u{1b}[0m");
    }
}

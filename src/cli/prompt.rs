//! What a command writes to its terminal, and asks there.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use super::printable;

/// Writes a line, or several.
///
/// # Errors
/// The output cannot be written.
pub fn say(text: &str) -> io::Result<()> {
    writeln!(io::stdout(), "{}", printable(text))
}

/// What came of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The name was typed.
    Meant,
    /// Something else was.
    Other,
    /// Standard input is no terminal: nobody can be asked.
    NoTerminal,
}

/// Has a name typed by who runs the command.
///
/// # Errors
/// The terminal cannot be read or written.
pub fn ask_for_name(question: &str, name: &str) -> io::Result<Answer> {
    let input = io::stdin();
    if !input.is_terminal() {
        return Ok(Answer::NoTerminal);
    }
    let mut answer = String::new();
    let mut output = io::stdout();
    write!(output, "{question}")?;
    output.flush()?;
    input.lock().read_line(&mut answer)?;
    Ok(if answer.trim() == name {
        Answer::Meant
    } else {
        Answer::Other
    })
}

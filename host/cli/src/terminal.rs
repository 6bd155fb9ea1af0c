//! How is the person at the controlling terminal asked? Everything is shown, made printable and never cut; silence and
//! anything but a yes is a no.

use hermes_runtime::document::printable;
use hermes_runtime::permission::approval::{Answer, Approver, Asking, Request};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};

/// The controlling terminal, if this process has one.
pub(crate) struct Terminal {
    file: File,
}

impl Terminal {
    pub(crate) fn open() -> Option<Terminal> {
        let file = std::fs::OpenOptions::new().read(true).write(true).open("/dev/tty").ok()?;
        rustix::termios::isatty(&file).then_some(Terminal { file })
    }

    /// Asks one question that only `y` or `yes` answers with yes.
    pub(crate) fn confirm(&self, question: &str) -> bool {
        self.ask(&format!("{} [y/N] ", printable_lines(question))).unwrap_or(false)
    }

    fn ask(&self, text: &str) -> std::io::Result<bool> {
        let mut file = &self.file;
        // What was typed before the question was shown answers nothing.
        rustix::termios::tcflush(file, rustix::termios::QueueSelector::IFlush)?;
        file.write_all(text.as_bytes())?;
        file.flush()?;
        let mut line = String::new();
        BufReader::new(file).read_line(&mut line)?;
        Ok(matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
    }
}

impl Approver for Terminal {
    fn ask<'a>(&'a self, request: &'a Request) -> Asking<'a> {
        Box::pin(async move {
            let text = question(request);
            let Some(terminal) = Terminal::open() else {
                return Answer::Nobody;
            };
            // A thread of its own, so that a person who never answers holds up nothing; the process ends it.
            let (sender, answer) = tokio::sync::oneshot::channel();
            let asking = std::thread::Builder::new().name("hermes-terminal".into()).spawn(move || {
                let _ = sender.send(terminal.ask(&text));
            });
            match (asking, answer.await) {
                (Ok(_), Ok(Ok(true))) => Answer::Approved { by: person() },
                (Ok(_), Ok(Ok(false))) => Answer::Denied { by: person(), reason: None },
                (Ok(_), _) | (Err(_), _) => Answer::Nobody,
            }
        })
    }
}

fn person() -> String {
    format!("terminal of user {}", rustix::process::getuid().as_raw())
}

fn question(request: &Request) -> String {
    let mut text = format!("\n── approval needed: {} ──\n", printable(&request.tool));
    let mut line = |label: &str, value: &str| {
        text.push_str(&format!("{label:>10}  {}\n", printable_lines(value).replace('\n', "\n            ")));
    };
    line("does", &request.description);
    line("caller", &format!("{} as {}", request.caller, request.role));
    line("target", &request.targets.join(", "));
    line("arguments", &pretty(&request.args));
    line("why asked", &request.why);
    line("risk", &format!("{} of 100", request.risk));
    for factor in &request.factors {
        line("", factor);
    }
    line("expires", &format!("in {} s", request.expires.as_secs()));
    text.push_str("Run it once? [y/N] ");
    text
}

fn pretty(args: &str) -> String {
    let value: Result<serde_json::Value, _> = serde_json::from_str(args);
    value.and_then(|value| serde_json::to_string_pretty(&value)).unwrap_or_else(|_| args.to_owned())
}

/// Printable, with its lines kept.
pub(crate) fn printable_lines(text: &str) -> String {
    text.split('\n').map(|line| printable(line).replace("\\u{9}", "\t")).collect::<Vec<_>>().join("\n")
}

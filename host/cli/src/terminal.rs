//! How is the person at the controlling terminal asked? Everything is shown, made printable and never cut; silence and
//! anything but a yes is a no.

use hermes_runtime::document::printable;
use hermes_runtime::permission::approval::{Answer, Approver, Asking, Request};
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The controlling terminal, if this process has one.
pub(crate) struct Terminal {
    file: File,
}

impl Terminal {
    pub(crate) fn open() -> Option<Terminal> {
        let file = std::fs::OpenOptions::new().read(true).write(true).open("/dev/tty").ok()?;
        rustix::termios::isatty(&file).then_some(Terminal { file })
    }

    /// Asks one question that only `y` or `yes` answers with yes. Silence is a no after a while.
    pub(crate) fn confirm(&self, question: &str) -> bool {
        let text = format!("{} [y/N] ", printable_lines(question));
        matches!(self.ask(&text, || false).ok().flatten().as_deref(), Some("y" | "yes"))
    }

    /// Asks one question that is answered by a letter; nothing for anything else.
    pub(crate) fn choose(&self, question: &str) -> Option<char> {
        let answer = self.ask(&printable_lines(question), || false).ok().flatten()?;
        answer.chars().next()
    }

    /// The line that is typed, in small letters; nothing if none came in time or the question was withdrawn. Whoever
    /// asks reads alone, and lets go of the terminal when its question is over.
    fn ask(&self, text: &str, withdrawn: impl Fn() -> bool) -> std::io::Result<Option<String>> {
        let mut file = &self.file;
        // What was typed before the question was shown answers nothing.
        rustix::termios::tcflush(file, rustix::termios::QueueSelector::IFlush)?;
        file.write_all(text.as_bytes())?;
        file.flush()?;
        let began = Instant::now();
        // Opened for itself, since not to wait is a property of what was opened.
        let nonblocking = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or_default();
        let mut input = std::fs::OpenOptions::new().read(true).custom_flags(nonblocking).open("/dev/tty")?;
        let mut line = Vec::new();
        while began.elapsed() < PATIENCE && !withdrawn() {
            if read_line(&mut input, &mut line)? {
                return Ok(Some(String::from_utf8_lossy(&line).trim().to_ascii_lowercase()));
            }
            std::thread::sleep(LOOK_EVERY);
        }
        file.write_all(b"\n")?;
        Ok(None)
    }
}

/// How long a question at a terminal waits for an answer.
const PATIENCE: Duration = Duration::from_secs(600);
/// How often it is looked whether something was typed, or the question withdrawn.
const LOOK_EVERY: Duration = Duration::from_millis(30);

/// A line, as far as it was typed by now.
fn read_line(input: &mut File, line: &mut Vec<u8>) -> std::io::Result<bool> {
    let mut byte = [0; 1];
    loop {
        match input.read(&mut byte) {
            Ok(0) => return Ok(true),
            Ok(_) if byte[0] == b'\n' => return Ok(true),
            Ok(_) if line.len() >= LONGEST => {}
            Ok(_) => line.push(byte[0]),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Longest answer that is read, in bytes.
const LONGEST: usize = 1000;

/// Says to the thread that asks that its question is withdrawn, when the call or its wait is over.
struct Withdraw(Arc<AtomicBool>);

impl Drop for Withdraw {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Approver for Terminal {
    fn ask<'a>(&'a self, request: &'a Request) -> Asking<'a> {
        Box::pin(async move {
            let text = question(request);
            let Some(terminal) = Terminal::open() else {
                return Answer::Nobody;
            };
            // A thread of its own, so that a person who never answers holds up nothing.
            let (sender, answer) = tokio::sync::oneshot::channel();
            let withdraw = Withdraw(Arc::new(AtomicBool::new(false)));
            let withdrawn = withdraw.0.clone();
            let asking = std::thread::Builder::new().name("hermes-terminal".into()).spawn(move || {
                let _ = sender.send(terminal.ask(&text, || withdrawn.load(Ordering::Relaxed)));
            });
            let said = (asking, answer.await);
            drop(withdraw);
            match said {
                (Ok(_), Ok(Ok(Some(word)))) if matches!(word.as_str(), "y" | "yes") => {
                    Answer::Approved { by: person() }
                }
                (Ok(_), Ok(Ok(Some(_)))) => Answer::Denied { by: person(), reason: None },
                (Ok(_), _) | (Err(_), _) => Answer::Nobody,
            }
        })
    }
}

/// Whoever sits at this terminal.
pub(crate) fn person() -> String {
    format!("terminal of user {}", rustix::process::getuid().as_raw())
}

fn question(request: &Request) -> String {
    format!("{}Run it once? [y/N] ", described(request))
}

/// The whole request, nothing of it cut.
pub(crate) fn described(request: &Request) -> String {
    let mut text = format!("\n── approval needed: {} ──\n", printable(&request.tool));
    let mut line = |label: &str, value: &str| {
        text.push_str(&format!("{label:>10}  {}\n", printable_lines(value).replace('\n', "\n            ")));
    };
    line("does", &request.description);
    line("caller", &format!("{} as {}", request.caller, request.role));
    line("situation", &request.situation);
    line("target", &request.targets.join(", "));
    for effect in &request.effect {
        line("effect", effect);
    }
    line("arguments", &pretty(&request.args));
    line("why asked", &request.why);
    line("risk", &format!("{} of 100", request.risk));
    for factor in &request.factors {
        line("", factor);
    }
    for similar in &request.similar {
        line("before", similar);
    }
    line("expires", &format!("in {} s", request.expires.as_secs()));
    line("id", &request.id);
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

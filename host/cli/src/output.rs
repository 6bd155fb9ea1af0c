//! How are answers shown? Text for people, with nothing in it that could deceive a terminal; JSON for programs.

use crate::args::Format;
use crate::failure::Failure;
use crate::terminal::printable_lines;
use hermes_runtime::Envelope;
use hermes_runtime::call::Progress;
use hermes_runtime::document::{Fault, is_deceptive};
use serde::Serialize;
use serde_json::{Value, json};
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// Says one line on standard error. A reader that has gone away is no failure.
macro_rules! say {
    ($($part:tt)*) => {{
        let _ = writeln!(std::io::stderr(), $($part)*);
    }};
}

/// Prints one answer.
pub(crate) fn envelope(envelope: &Envelope, format: Format) {
    match format {
        Format::Json | Format::Ndjson => document(envelope, format),
        Format::Text => text_envelope(envelope),
    }
}

/// Prints something as one JSON document.
pub(crate) fn document(value: &impl Serialize, format: Format) {
    let text = match format {
        Format::Ndjson => serde_json::to_string(value),
        Format::Json | Format::Text => serde_json::to_string_pretty(value),
    };
    match text {
        Ok(text) => line(&escaped(&text)),
        Err(error) => warn(&format!("the answer cannot be printed: {error}")),
    }
}

/// Whether an answer could not be written.
static LOST: AtomicBool = AtomicBool::new(false);

/// Whether an answer could not be written although its reader is still there.
pub(crate) fn is_lost() -> bool {
    LOST.load(Ordering::SeqCst)
}

/// Prints one line. A reader that has gone away is no failure.
pub(crate) fn line(text: &str) {
    write_out(&format!("{text}\n"));
}

fn write_out(text: &str) {
    let mut out = std::io::stdout();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    match written {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            LOST.store(true, Ordering::SeqCst);
            warn(&format!("the answer cannot be written: {error}"));
        }
        Ok(()) | Err(_) => {}
    }
}

/// Says what is wrong with the command line, or shows the help that was asked for.
pub(crate) fn usage(error: &clap::Error) -> std::process::ExitCode {
    let text = printable_lines(&error.render().to_string());
    match error.use_stderr() {
        true => say!("{}", text.trim_end()),
        false => line(text.trim_end()),
    }
    std::process::ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

/// JSON in which every character is seen; it means the same.
fn escaped(json: &str) -> String {
    if !json.chars().any(|c| c != '\n' && is_deceptive(c)) {
        return json.to_owned();
    }
    let mut text = String::with_capacity(json.len() + 64);
    for c in json.chars() {
        match c != '\n' && is_deceptive(c) {
            true => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| text.push_str(&format!("\\u{unit:04x}"))),
            false => text.push(c),
        }
    }
    text
}

fn text_envelope(envelope: &Envelope) {
    print_data(&envelope.data);
    let metadata = &envelope.metadata;
    let err = Style::new();
    for warning in &metadata.warnings {
        warn(warning);
    }
    if let Some(truncation) = &metadata.truncation {
        warn(&format!("{} of {} bytes are shown: {}", truncation.kept, truncation.total, truncation.reason));
    }
    let risk = metadata.risk.as_ref().map_or(String::new(), |risk| format!(" · {} risk", risk.level));
    let tail = format!("{}{risk} · {:.1} ms · audit {}", metadata.tool, metadata.duration_ms, metadata.audit_id);
    match &envelope.error {
        None => say!("{}", err.dim(&format!("ok · {}", printable_lines(&tail)))),
        Some(error) => {
            say!("{} {}", err.bold(&format!("{} {}:", error.code, error.kind.name())), printable_lines(&error.message));
            for problem in &error.problems {
                let hint = problem.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
                let path = if problem.path.is_empty() { "/" } else { &problem.path };
                let text = format!("  {path}: expected {}, received {}{hint}", problem.expected, problem.received);
                say!("{}", printable_lines(&text));
            }
            if let Some(hint) = &error.hint {
                say!("  {}", printable_lines(hint));
            }
            say!("{}", err.dim(&printable_lines(&tail)));
        }
    }
}

/// The text of a result as it is, with its facts after it; anything else as JSON.
fn print_data(data: &Value) {
    match data {
        Value::Null => {}
        Value::String(text) => print_text(text),
        Value::Object(members) if members.get("text").is_some_and(Value::is_string) => {
            let text = members.get("text").and_then(Value::as_str).unwrap_or_default();
            print_text(text);
        }
        other => document(other, Format::Json),
    }
}

fn print_text(text: &str) {
    let end = if text.ends_with('\n') || text.is_empty() { "" } else { "\n" };
    write_out(&format!("{}{end}", printable_lines(text)));
}

/// Says on standard error how far a call has come, and what of its answer is there already.
pub(crate) fn progress(update: &Progress) {
    if std::io::stderr().is_terminal() {
        if let Some(part) = &update.part {
            return say!("{}", printable_lines(part.trim_end_matches('\n')));
        }
        let total = update.total.map(|total| format!(" of {total}")).unwrap_or_default();
        say!("… {}{total} {}", update.done, update.message.as_deref().unwrap_or_default());
    }
}

/// Shows at a terminal which components are being compiled, which happens once for each and takes seconds.
#[derive(Default)]
pub(crate) struct Installing(Option<indicatif::ProgressBar>);

impl Installing {
    /// The next one begins. A terminal that is to get nothing but text gets a line instead of a bar.
    pub(crate) fn show(&mut self, component: &hermes_runtime::sandbox::install::Installing<'_>) {
        let message = printable_lines(&format!("compiling the component of `{}`, this once", component.adapter));
        if !colours(&std::io::stderr()) {
            if std::io::stderr().is_terminal() {
                say!("… {} of {} {message}", component.number, component.of);
            }
            return;
        }
        let bar = self.0.get_or_insert_with(|| {
            let bar = indicatif::ProgressBar::new(component.of as u64);
            bar.set_style(
                indicatif::ProgressStyle::with_template("{bar:20} {pos} of {len}  {msg}")
                    .unwrap_or_else(|_| indicatif::ProgressStyle::default_bar()),
            );
            bar
        });
        bar.set_position(component.number.saturating_sub(1) as u64);
        bar.set_message(message);
        bar.tick();
    }
}

impl Drop for Installing {
    fn drop(&mut self) {
        if let Some(bar) = self.0.take() {
            bar.finish_and_clear();
        }
    }
}

/// Says something on standard error that the reader should know.
pub(crate) fn warn(text: &str) {
    say!("{} {}", Style::new().bold("note:"), printable_lines(text));
}

/// Shows mistakes in files on standard error.
pub(crate) fn faults(faults: &[Fault]) {
    for fault in faults {
        say!("{:?}", miette::Report::new(Snippet::of(fault)));
    }
}

/// Says why the command did not work.
pub(crate) fn failure(failure: &Failure, format: Format) {
    if format == Format::Text || !failure.faults.is_empty() && std::io::stderr().is_terminal() {
        faults(&failure.faults);
        say!("{} {}", Style::new().bold("error:"), printable_lines(&failure.message));
    } else {
        let text = json!({ "error": { "message": failure.message, "exit": failure.exit, "faults": failure.faults } });
        say!("{text}");
    }
}

/// Whether a stream gets colours.
pub(crate) fn colours(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

struct Style {
    colours: bool,
}

impl Style {
    fn new() -> Style {
        Style { colours: colours(&std::io::stderr()) }
    }

    fn dim(&self, text: &str) -> String {
        if self.colours { format!("\x1b[2m{text}\x1b[0m") } else { text.to_owned() }
    }

    fn bold(&self, text: &str) -> String {
        if self.colours { format!("\x1b[1m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// A mistake with the lines around it, as far as the file can be read.
#[derive(Debug)]
struct Snippet {
    message: String,
    hint: Option<String>,
    source: Option<miette::NamedSource<String>>,
    at: Option<usize>,
}

impl Snippet {
    fn of(fault: &Fault) -> Snippet {
        let text =
            hermes_runtime::document::read_text(&fault.file).ok().filter(|_| fault.line > 0).map(|text| visible(&text));
        let at = text.as_ref().map(|text| {
            let line_start: usize = text.split_inclusive('\n').take(fault.line - 1).map(str::len).sum();
            line_start
                + text[line_start..].chars().take(fault.column.saturating_sub(1)).map(char::len_utf8).sum::<usize>()
        });
        let place = if text.is_none() { format!("{}: ", fault.file.display()) } else { String::new() };
        Snippet {
            message: printable_lines(&format!("{place}{}", fault.message)),
            hint: fault.hint.as_deref().map(printable_lines),
            source: text.map(|text| miette::NamedSource::new(printable_lines(&fault.file.display().to_string()), text)),
            at,
        }
    }
}

/// A source as a terminal may show it: what deceives is replaced, so that every place stays where it is.
fn visible(text: &str) -> String {
    let shown = |c: char| match is_deceptive(c) && c != '\n' && c != '\t' {
        true => "?".repeat(c.len_utf8()),
        false => c.to_string(),
    };
    text.chars().map(shown).collect()
}

impl std::fmt::Display for Snippet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Snippet {}

impl miette::Diagnostic for Snippet {
    fn help<'a>(&'a self) -> Option<Box<dyn std::fmt::Display + 'a>> {
        self.hint.as_ref().map(|hint| Box::new(hint) as Box<dyn std::fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn miette::SourceCode> {
        self.source.as_ref().map(|source| source as &dyn miette::SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = miette::LabeledSpan> + '_>> {
        let at = self.at?;
        Some(Box::new(std::iter::once(miette::LabeledSpan::new(Some("here".into()), at, 1))))
    }
}

/// So many of something, as people say it.
pub(crate) fn counted(count: impl TryInto<u64>, what: &str) -> String {
    match count.try_into().unwrap_or(u64::MAX) {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    }
}

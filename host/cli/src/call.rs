//! Making calls: one, or many in one session.

use crate::args::{Arguments, CallArguments, Format};
use crate::failure::Failure;
use crate::{identity, output, setup};
use hermes_runtime::call::{self, Call};
use hermes_runtime::cancel::Cancel;
use hermes_runtime::{Envelope, Runtime};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::io::{BufRead, Read};
use std::path::Path;
use std::sync::Arc;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// What the process exits with when the person gives up.
const CANCELLED: u8 = 130;
/// What the process exits with when the calls went well and their records are lost.
const UNRECORDED: u8 = 4;
/// Longest line of a batch and longest arguments, in bytes.
const LONGEST: u64 = 32 << 20;

pub(crate) async fn run(arguments: &Arguments, command: &CallArguments) -> Result<u8, Failure> {
    let setup = setup::load(arguments)?;
    let caller = identity::caller(arguments, &setup.loaded.config)?;
    let situation = identity::situation(arguments, &setup.loaded.config)?;
    let one = match &command.batch {
        None => Some((command.tool.clone().unwrap_or_default(), args_of(command)?)),
        Some(_) => None,
    };
    let mut ending = Ending::listen()?;
    let runtime = setup::start(setup)?;
    let session: Arc<str> = format!("command:{}", std::process::id()).into();
    let make = |tool: String, text: String| Call {
        tool,
        args: call::Arguments::Json(text),
        caller: caller.clone(),
        situation: situation.clone(),
        session: session.clone(),
        progress: None,
        fixed: None,
        parent: None,
        asks_itself: false,
        cancel: None,
    };
    let code = match (one, &command.batch) {
        (Some((tool, text)), _) => {
            let envelope = call_or_give_up(&runtime, make(tool, text), &mut ending).await;
            print_one(envelope, arguments.output.format())
        }
        (None, Some(file)) => batch(&runtime, file, arguments.output.format(), &mut ending, make).await?,
        (None, None) => return Err(Failure::usage("name a tool, or give `--batch FILE`")),
    };
    if !runtime.flush().await {
        output::warn("the last records could not be written to the journal; `hermes-dispatch doctor` says why");
        return Ok(if code == 0 { UNRECORDED } else { code });
    }
    Ok(code)
}

/// The answer, or nothing if the person pressed Ctrl-C, which ends the call and leaves its record. A tool that cleans up
/// has its time for it, unless the person presses it again.
async fn call_or_give_up(runtime: &Runtime, call: Call, ending: &mut Ending) -> Option<Envelope> {
    let (sender, mut progress) = tokio::sync::mpsc::channel(16);
    let cancel = Cancel::default();
    let call = Call { progress: Some(sender), cancel: Some(cancel.clone()), ..call };
    let mut running = std::pin::pin!(runtime.call(call));
    let mut gave_up = false;
    loop {
        tokio::select! {
            injection = &mut running => return (!gave_up).then_some(injection.envelope),
            () = ending.told() => {
                if gave_up || !cancel.tell() {
                    return None;
                }
                gave_up = true;
            }
            Some(update) = progress.recv() => output::progress(&update),
        }
    }
}

/// Whether the person or the system wants the process to end. Listens from the start, so that no moment is missed.
struct Ending {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Ending {
    fn listen() -> Result<Ending, Failure> {
        let listen = |kind| signal(kind).map_err(|error| Failure::internal(format!("signals cannot be had: {error}")));
        Ok(Ending {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hangup: listen(SignalKind::hangup())?,
        })
    }

    async fn told(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }
}

fn print_one(envelope: Option<Envelope>, format: Format) -> u8 {
    match envelope {
        Some(envelope) => {
            output::envelope(&envelope, format);
            envelope.exit_code()
        }
        None => CANCELLED,
    }
}

/// Runs the calls of a file in order. The exit code is that of the first one that failed.
async fn batch(
    runtime: &Runtime,
    file: &Path,
    format: Format,
    ending: &mut Ending,
    make: impl Fn(String, String) -> Call,
) -> Result<u8, Failure> {
    let format = if format == Format::Json { Format::Ndjson } else { format };
    let mut lines = lines_of(open(file)?);
    let mut code = 0;
    for number in 1.. {
        let line = tokio::select! {
            line = lines.recv() => line,
            () = ending.told() => return Ok(CANCELLED),
        };
        let Some(line) = line else { return Ok(code) };
        let line =
            line.map_err(|error| Failure::usage(format!("line {number} of the batch cannot be read: {error}")))?;
        if line.trim().is_empty() {
            continue;
        }
        let wanted: BatchLine = serde_json::from_str(&line)
            .map_err(|error| Failure::usage(format!("line {number} of the batch is no call: {error}")))?;
        let args = wanted.args.map_or("{}".to_owned(), |args| args.get().to_owned());
        match print_one(call_or_give_up(runtime, make(wanted.tool, args), ending).await, format) {
            CANCELLED => return Ok(CANCELLED),
            ended if code == 0 => code = ended,
            _ => {}
        }
    }
    Ok(code)
}

/// Reads lines on a thread of their own, since a terminal or a pipe may not have the next one for long; the process
/// ends it.
fn lines_of(mut reader: Box<dyn BufRead + Send>) -> tokio::sync::mpsc::Receiver<std::io::Result<String>> {
    let (sender, lines) = tokio::sync::mpsc::channel(1);
    std::thread::spawn(move || {
        loop {
            let mut line = String::new();
            let read = match reader.by_ref().take(LONGEST).read_line(&mut line) {
                Ok(0) => return,
                read => read.map(|_| line),
            };
            if sender.blocking_send(read).is_err() {
                return;
            }
        }
    });
    lines
}

/// One call of a batch. The arguments stay text until validation parses them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BatchLine {
    tool: String,
    args: Option<Box<RawValue>>,
}

fn open(file: &Path) -> Result<Box<dyn BufRead + Send>, Failure> {
    if file == Path::new("-") {
        return Ok(Box::new(std::io::BufReader::new(std::io::stdin())));
    }
    let open = std::fs::File::open(file)
        .map_err(|error| Failure::usage(format!("`{}` cannot be opened: {error}", file.display())))?;
    Ok(Box::new(std::io::BufReader::new(open)))
}

pub(crate) fn args_of(command: &CallArguments) -> Result<String, Failure> {
    if let Some(text) = &command.args {
        return Ok(text.clone());
    }
    if let Some(file) = &command.args_file {
        let mut text = String::new();
        open(file)?
            .take(LONGEST)
            .read_to_string(&mut text)
            .map_err(|error| Failure::usage(format!("`{}` cannot be read: {error}", file.display())))?;
        return Ok(text);
    }
    from_pairs(&command.pairs)
}

/// JSON text from `key=text` and `key:=JSON`. A key given twice stays twice, so that validation refuses it.
fn from_pairs(pairs: &[String]) -> Result<String, Failure> {
    let mut members = Vec::new();
    for pair in pairs {
        let wrong = || Failure::usage(format!("`{pair}` is neither key=text nor key:=JSON"));
        let Some((key, value)) = pair.split_once('=') else {
            return Err(Failure::usage(format!(
                "`{pair}` is not of the form key=text or key:=JSON, such as `path={pair}`"
            )));
        };
        let (key, value) = match key.strip_suffix(':') {
            Some(key) => {
                let json: Box<RawValue> = serde_json::from_str(value).map_err(|_| wrong())?;
                (key, json.get().to_owned())
            }
            None => (key, Value::from(value).to_string()),
        };
        members.push(format!("{}:{value}", Value::from(key)));
    }
    Ok(format!("{{{}}}", members.join(",")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_become_json_and_hide_nothing() {
        let check = |pairs: &[&str], expect: &str| {
            let pairs: Vec<String> = pairs.iter().map(|pair| (*pair).to_owned()).collect();
            assert_eq!(from_pairs(&pairs).ok().as_deref(), Some(expect));
        };
        check(&["path=a=b", "n:=3"], r#"{"path":"a=b","n":3}"#);
        check(&["path=a", "path=b"], r#"{"path":"a","path":"b"}"#);
        assert!(from_pairs(&["path".into()]).is_err());
        assert!(from_pairs(&["n:=x".into()]).is_err());
    }
}

//! What does a plugin do now? Builds it again whenever a file changes and tries it on a scratch workspace and journal.

use super::{build, cache, plugin_folder, test};
use crate::failure::Failure;
use crate::output;
use hermes_testkit::Bench;
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, SystemTime};

/// How often files are looked at.
const LOOK: Duration = Duration::from_millis(300);

pub(crate) fn run(folder: &Path, call: Option<&str>, once: bool) -> Result<u8, Failure> {
    let folder = plugin_folder(folder)?;
    let call = call.map(parsed).transpose()?;
    let mut seen = None;
    loop {
        let now = changed(&folder);
        if seen != Some(now) {
            seen = Some(now);
            let tried = build::run(&folder).and_then(|_| attempt(&folder, call.as_ref()));
            match tried {
                Ok(code) if once => return Ok(code),
                Ok(_) => {}
                Err(failure) if once => return Err(failure),
                Err(failure) => output::line(&failure.message),
            }
            output::line("waiting for a change; Ctrl-C ends");
        }
        std::thread::sleep(LOOK);
    }
}

fn parsed(call: &str) -> Result<(String, Value), Failure> {
    match call.split_once('=') {
        None => Ok((call.to_owned(), json!({}))),
        Some((tool, args)) => serde_json::from_str(args)
            .map(|args| (tool.to_owned(), args))
            .map_err(|error| Failure::usage(format!("the arguments are no JSON: {error}"))),
    }
}

fn attempt(folder: &Path, call: Option<&(String, Value)>) -> Result<u8, Failure> {
    let Some((tool, args)) = call else {
        return Ok(if test::cases(folder)? == 0 { 0 } else { 5 });
    };
    let setting = Bench::of(folder).map_err(Failure::usage)?;
    let bench = setting.cache(&cache()?).start().map_err(Failure::usage)?;
    let called = bench.call(tool, args.clone());
    output::document(&called.envelope, crate::args::Format::Json);
    for line in called.log() {
        output::line(&format!("log: {line}"));
    }
    // A trap is told with the functions, files and lines that it went through.
    if let Some(insides) = called.record.and_then(|record| record.insides) {
        output::line(&insides);
    }
    Ok(called.envelope.exit_code())
}

/// When a file of the plugin was changed last, and how many there are.
fn changed(folder: &Path) -> (SystemTime, usize) {
    let mut last = (SystemTime::UNIX_EPOCH, 0);
    for part in ["src", "tests", "tools", "Cargo.toml", "adapter.toml"] {
        look(&folder.join(part), &mut last);
    }
    last
}

fn look(path: &Path, last: &mut (SystemTime, usize)) {
    if let Ok(time) = path.metadata().and_then(|metadata| metadata.modified()) {
        *last = (last.0.max(time), last.1 + 1);
    }
    for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
        look(&entry.path(), last);
    }
}

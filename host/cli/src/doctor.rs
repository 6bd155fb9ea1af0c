//! Is everything there that the runtime needs? Looks at each part and says what to do about what is missing.

use crate::args::{Arguments, Format};
use crate::failure::Failure;
use crate::terminal::Terminal;
use crate::{BUILT_IN, audit, identity, output, setup};
use hermes_runtime::Runtime;
use hermes_runtime::injection::audit::Reader;
use serde::Serialize;

/// What one check came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Verdict {
    Ok,
    Note,
    Fault,
}

#[derive(Debug, Serialize)]
struct Check {
    what: &'static str,
    verdict: Verdict,
    found: String,
}

pub(crate) async fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let mut checks = Vec::new();
    let mut add = |what, verdict, found: String| checks.push(Check { what, verdict, found });
    let setup = setup::load(arguments)?;
    let files: Vec<String> = setup.files.iter().map(crate::configuration::said).collect();
    let files = if files.is_empty() { "none; the safe defaults are in force".to_owned() } else { files.join(", ") };
    add("configuration", Verdict::Ok, files);
    let no_workspace = setup.no_workspace.is_some();
    match &setup.no_workspace {
        None => add("workspace", Verdict::Ok, setup.loaded.config.grants["workspace"].path.display().to_string()),
        Some(why) => add("workspace", Verdict::Note, why.clone()),
    }
    let caller = identity::caller(arguments, &setup.loaded.config)?;
    add("identity", Verdict::Ok, format!("{} in role {}", caller.id, caller.role));
    let terminal = Terminal::open().is_some();
    let asked =
        if terminal { "this terminal can be asked" } else { "no terminal: calls that need a person are refused" };
    add("approval", if terminal { Verdict::Ok } else { Verdict::Note }, asked.into());
    match BUILT_IN.len() {
        0 => add(
            "built-in plugins",
            Verdict::Fault,
            "none; build them with `./just plugins`, then build this program".into(),
        ),
        count => add("built-in plugins", Verdict::Ok, count.to_string()),
    }
    for (name, seen) in hermes_runtime::sandbox::servers_seen(&setup.loaded.config.clone().with_own_places_protected())
    {
        match seen {
            Ok(seen) => {
                let verdict = if seen.starts_with("NOT ") { Verdict::Note } else { Verdict::Ok };
                add("server", verdict, format!("{name}: {seen}"));
            }
            Err(why) => add("server", Verdict::Fault, format!("{name}: {why}")),
        }
    }
    let state = setup.loaded.config.state_dir.clone();
    let cache = setup.loaded.config.cache_dir.clone();
    match Runtime::start(setup.loaded.config, BUILT_IN, None) {
        Ok(runtime) => {
            let tools = runtime.toolbox().registry.tools().count();
            add(
                "engine",
                Verdict::Ok,
                format!("adapters: {}, tools: {tools}", runtime.toolbox().adapters.all().count()),
            );
            for fault in &runtime.toolbox().faults {
                add("plugins and tools", Verdict::Fault, fault.to_string());
            }
            match runtime.layers().await {
                Ok(layers) => layers
                    .into_iter()
                    .for_each(|layer| add("sandbox", Verdict::Ok, format!("{}: {}", layer.name, layer.state))),
                // A program needs a folder to run in, so without a workspace there is nothing to try.
                Err(why) if no_workspace => add("sandbox", Verdict::Note, why),
                Err(why) => add("sandbox", Verdict::Fault, why),
            }
            match runtime.browser().await {
                Ok(layers) => layers.into_iter().for_each(|layer| {
                    let verdict = if layer.state.starts_with("OFF") { Verdict::Note } else { Verdict::Ok };
                    add("browser", verdict, format!("{}: {}", layer.name, layer.state));
                }),
                Err(why) => add("browser", Verdict::Note, format!("{why}; its tools are out of service")),
            }
            let written = runtime.flush().await;
            let verdict = if written { Verdict::Ok } else { Verdict::Fault };
            add("journal", verdict, state.display().to_string());
        }
        Err(error) => add("engine and journal", Verdict::Fault, error.to_string()),
    }
    add("compiled components", Verdict::Ok, cache.display().to_string());
    match Reader::open(&state).and_then(|reader| reader.verify()) {
        Ok(found) => match found.broken {
            None => {
                add("audit chain", Verdict::Ok, format!("{}, unbroken", output::counted(found.records, "record")));
                // The last ones are enough: `audit verify` has all.
                for repaired in found.repaired.iter().rev().take(3) {
                    add("audit chain", Verdict::Note, audit::said(repaired));
                }
            }
            Some((seq, why)) => add("audit chain", Verdict::Fault, format!("record {seq}: {why}")),
        },
        Err(error) => add("audit chain", Verdict::Note, error.to_string()),
    }
    print(&checks, arguments.output.format());
    Ok(if checks.iter().any(|check| check.verdict == Verdict::Fault) { 4 } else { 0 })
}

fn print(checks: &[Check], format: Format) {
    if format != Format::Text {
        return output::document(&checks, format);
    }
    for check in checks {
        let mark = match check.verdict {
            Verdict::Ok => "ok   ",
            Verdict::Note => "note ",
            Verdict::Fault => "FAULT",
        };
        output::line(&crate::terminal::printable_lines(&format!("{mark} {:<20} {}", check.what, check.found)));
    }
}

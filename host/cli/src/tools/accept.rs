//! What changed since it was accepted, and may it count? Each change is shown whole, and a person at the terminal says yes
//! or no to each.

use crate::failure::Failure;
use crate::output;
use crate::terminal::{Terminal, printable_lines};
use hermes_runtime::Runtime;
use hermes_runtime::document::printable;
use hermes_runtime::registry::pinned::Held;

/// Shows what waits and asks about each.
pub(super) async fn run(runtime: &Runtime, names: &[String]) -> Result<(), Failure> {
    let is_meant = |name: &str| names.is_empty() || names.iter().any(|wanted| wanted == name);
    let held: Vec<Held> = runtime.toolbox().held.iter().filter(|held| is_meant(&held.name)).cloned().collect();
    let mut servers = Vec::new();
    for changed in runtime.changed_servers().await {
        match changed {
            Ok(change) if is_meant(&change.server) => servers.push(change),
            Ok(_) => {}
            Err(why) => output::warn(&why),
        }
    }
    if held.is_empty() && servers.is_empty() {
        output::line("nothing waits to be accepted");
        return Ok(());
    }
    let Some(terminal) = Terminal::open() else {
        let waiting =
            held.iter().map(|held| held.name.as_str()).chain(servers.iter().map(|server| server.server.as_str()));
        let waiting: Vec<String> = waiting.map(printable).collect();
        return Err(Failure::denied(format!(
            "accepting needs a person at a terminal, since it widens what tools can do; {} wait: run this at yours",
            waiting.join(", ")
        )));
    };
    let (mut accepted, mut left) = (Vec::new(), 0);
    for held in held {
        output::line(&shown(&held));
        match terminal.confirm(&format!("May `{}` be so from now on?", held.name)) {
            true => accepted.push(held),
            false => left += 1,
        }
    }
    for change in servers {
        let changes = change.changes.join("\n  ");
        let tools = serde_json::to_string_pretty(&change.tools).unwrap_or_else(|_| change.tools.to_string());
        output::line(&printable_lines(&format!(
            "\n── the server `{}` ──\n  {changes}\nall its tools now: {tools}",
            change.server
        )));
        match terminal.confirm(&format!("May the server `{}` be so from now on?", change.server)) {
            true => {
                output::line(&format!("the server `{}` is accepted", printable(&change.server)));
                runtime.accept_server(change);
            }
            false => left += 1,
        }
    }
    runtime.accept(&accepted)?;
    accepted.iter().for_each(|held| output::line(&format!("`{}` is accepted", printable(&held.name))));
    match left {
        0 => Ok(()),
        _ => Err(Failure::denied(format!("{left} stay as they were"))),
    }
}

fn shown(held: &Held) -> String {
    let mut text = format!("\n── {} ──\n{}\n", held.name, held.file.display());
    if held.differences.is_empty() {
        text.push_str("what was accepted of it cannot be read any more\n");
    }
    for difference in &held.differences {
        let mark = if difference.widens { "widens" } else { "narrows" };
        text.push_str(&format!("{} ({mark})\n  was {}\n  is  {}\n", difference.what, difference.from, difference.to));
    }
    printable_lines(&text)
}

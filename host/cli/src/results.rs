//! What of cut results was used, and what would show more of it? Reads the journal without starting a runtime.

use crate::args::{Arguments, Format, ResultsCommand};
use crate::failure::Failure;
use crate::{output, setup};
use hermes_runtime::injection::feedback::{self, Usage};
use hermes_runtime::result::tune::{self, Tuned};
use serde_json::json;
use std::path::Path;

pub(crate) fn run(arguments: &Arguments, command: &ResultsCommand) -> Result<u8, Failure> {
    let state_dir = setup::state_dir(arguments)?;
    let format = arguments.output.format();
    match command {
        ResultsCommand::Stats => {
            let (usage, samples) = feedback::gather(&state_dir)?;
            match format {
                Format::Text => text(&usage, samples.len()),
                Format::Json | Format::Ndjson => {
                    output::document(&json!({ "usage": usage, "samples": samples.len() }), format);
                }
            }
        }
        ResultsCommand::Tune { dry_run } => fit(&state_dir, *dry_run, format)?,
        ResultsCommand::Undo => match feedback::undo(&state_dir).map_err(unwritten)? {
            Some(version) => output::line(&format!("version {version} of the weights is taken back")),
            None => return Err(Failure::usage("no weights were fitted; the shipped ones are in force")),
        },
    }
    Ok(0)
}

fn text(usage: &Usage, samples: usize) {
    let shown = usage.shown * 100.0;
    let counted = output::counted;
    for line in [
        format!("{}, of which {shown:.0} % was shown on average", counted(usage.cut, "cut result")),
        format!(
            "what the next calls asked about was shown {}, was only in what was left out {}, and in no result {}",
            counted(usage.used_from_shown, "time"),
            counted(usage.used_from_left_out, "time"),
            counted(usage.in_no_result, "time")
        ),
        format!("{} read on by a handle", counted(usage.read_on, "result")),
        format!("{} made again with the same arguments", counted(usage.repeats, "call")),
        format!("{} reported on, {} of them as right", counted(usage.reported, "result"), usage.reported_right),
        match samples < tune::LEAST {
            true => format!("{} to learn from; `results tune` needs {}", counted(samples, "result"), tune::LEAST),
            false => format!("{} to learn from: `results tune`", counted(samples, "result")),
        },
    ] {
        output::line(&line);
    }
}

fn fit(state_dir: &Path, dry_run: bool, format: Format) -> Result<(), Failure> {
    let (_, samples) = feedback::gather(state_dir)?;
    let known = feedback::weights(state_dir);
    let Some(Tuned { weights, fitted, held_out, before, after }) = tune::tune(&samples, &known) else {
        return Err(Failure::unavailable(format!(
            "{} cut results with a known use are recorded, and a fit needs {}",
            samples.len(),
            tune::LEAST
        )));
    };
    let kept = after > before && !dry_run;
    let version = if kept { Some(feedback::keep(state_dir, &weights).map_err(unwritten)?) } else { None };
    match format {
        Format::Json | Format::Ndjson => output::document(
            &json!({ "fitted": fitted, "held_out": held_out, "recall_before": before, "recall_after": after, "version": version, "weights": weights }),
            format,
        ),
        Format::Text => {
            output::line(&format!(
                "recall {before:.3} before, {after:.3} after, on {held_out} results that were held out of {}",
                fitted + held_out
            ));
            output::line(&match version {
                Some(version) => {
                    format!("version {version} is in force from the next start on; `results undo` takes it back")
                }
                None => "nothing is changed".to_owned(),
            });
        }
    }
    Ok(())
}

fn unwritten(error: std::io::Error) -> Failure {
    Failure::unavailable(format!("the weights cannot be written: {error}"))
}

//! How does somebody write a plugin? Makes its folder, builds, tests and fuzzes it, packs and installs it.

mod build;
mod component;
mod dev;
mod fuzz;
mod install;
mod language;
mod library;
mod new;
mod pack;
mod test;
mod toolchain;

use crate::args::Arguments;
use crate::failure::Failure;
use clap::Subcommand;
use std::path::{Path, PathBuf};

/// What a plugin's author does.
#[derive(Debug, Subcommand)]
pub(crate) enum AuthorCommand {
    /// Make a folder with a plugin that builds and passes its tests
    New {
        /// The folder, whose name becomes the plugin's
        folder: PathBuf,
        /// The language to write it in
        #[arg(long, default_value = "rust", value_parser = clap::builder::PossibleValuesParser::new(language::Language::names()))]
        lang: String,
        /// A role that may call its tools, one of your configuration
        #[arg(long = "for", default_value = "operator", value_name = "ROLE")]
        role: String,
    },
    /// Compile a plugin's component
    Build {
        /// The plugin's folder
        #[arg(default_value = ".")]
        folder: PathBuf,
    },
    /// Rebuild a plugin whenever a file changes, and try it on a scratch workspace
    Dev {
        /// The plugin's folder
        #[arg(default_value = ".")]
        folder: PathBuf,
        /// Make this call after each build, as TOOL or TOOL=JSON; without one, the cases in `tests/` are run
        #[arg(long, value_name = "TOOL[=JSON]")]
        call: Option<String>,
        /// Build and try it once
        #[arg(long)]
        once: bool,
    },
    /// Build a plugin, run its own tests and the cases in `tests/*.toml`
    Test {
        /// The plugin's folder
        #[arg(default_value = ".")]
        folder: PathBuf,
    },
    /// Look for inputs that break a plugin or a component; nothing of this machine is reached
    Fuzz {
        /// A plugin's folder or a component's file
        plugin: PathBuf,
        /// How long to look
        #[arg(long, default_value = "60s", value_parser = seconds)]
        time: std::time::Duration,
        /// From which all inputs follow
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Where findings are kept and tried first [default: fuzz/ beside the plugin]
        #[arg(long, value_name = "DIR")]
        corpus: Option<PathBuf>,
        /// Only try what the corpus has
        #[arg(long)]
        replay: bool,
        /// Stop after so many findings
        #[arg(long, value_name = "NUMBER")]
        enough: Option<usize>,
        /// Begin with the arguments of past calls in your journal
        #[arg(long)]
        recorded: bool,
        /// Make so many calls at most; with this and a seed, a run is the same every time
        #[arg(long, value_name = "NUMBER")]
        calls: Option<u64>,
        /// Do not look at how far into the component inputs lead
        #[arg(long)]
        blind: bool,
        /// Draw how much of the component was reached, as SVG
        #[arg(long, value_name = "FILE", conflicts_with_all = ["blind", "replay"])]
        plot: Option<PathBuf>,
    },
    /// Put a plugin into one file
    Pack {
        /// The plugin's folder
        #[arg(default_value = ".")]
        folder: PathBuf,
        /// The file to write [default: NAME-VERSION.hermes]
        #[arg(long, value_name = "FILE")]
        to: Option<PathBuf>,
    },
    /// Check a plugin and put it where your configuration finds it; asks at the terminal
    Install {
        /// A plugin's folder or a packed one
        plugin: PathBuf,
    },
}

fn seconds(text: &str) -> Result<std::time::Duration, String> {
    let (digits, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let number: u64 = digits.parse().map_err(|_| "a time is a number and a unit, as in 60s or 5m".to_owned())?;
    match unit {
        "" | "s" => Ok(std::time::Duration::from_secs(number)),
        "m" => Ok(std::time::Duration::from_secs(number * 60)),
        "h" => Ok(std::time::Duration::from_secs(number * 3600)),
        _ => Err(format!("`{unit}` is no unit; there are s, m and h")),
    }
}

pub(crate) fn run(arguments: &Arguments, command: &AuthorCommand) -> Result<u8, Failure> {
    match command {
        AuthorCommand::New { folder, lang, role } => new::run(folder, lang, role),
        AuthorCommand::Build { folder } => build::run(folder).map(|_| 0),
        AuthorCommand::Dev { folder, call, once } => dev::run(folder, call.as_deref(), *once),
        AuthorCommand::Test { folder } => test::run(folder),
        AuthorCommand::Fuzz { plugin, time, seed, corpus, replay, enough, recorded, calls, blind, plot } => {
            let plan = fuzz::Wanted {
                time: *time,
                seed: *seed,
                corpus: corpus.as_deref(),
                replay: *replay,
                enough: *enough,
                recorded: *recorded,
                calls: *calls,
                blind: *blind,
                plot: plot.as_deref(),
            };
            fuzz::run(arguments, plugin, &plan)
        }
        AuthorCommand::Pack { folder, to } => pack::run(folder, to.as_deref()).map(|_| 0),
        AuthorCommand::Install { plugin } => install::run(arguments, plugin),
    }
}

/// The plugin's folder, if there is one.
fn plugin_folder(folder: &Path) -> Result<PathBuf, Failure> {
    let folder = folder
        .canonicalize()
        .map_err(|error| Failure::usage(format!("the folder `{}` cannot be used: {error}", folder.display())))?;
    match folder.join("adapter.toml").is_file() {
        true => Ok(folder),
        false => Err(Failure::usage(format!(
            "`{}` is no plugin's folder: it has no adapter.toml; `hermes-dispatch plugin new NAME` makes one",
            folder.display()
        ))),
    }
}

/// Where compiled components are kept, those of a plugin's author too.
fn cache() -> Result<PathBuf, Failure> {
    Ok(crate::setup::Folders::named()?.cache)
}

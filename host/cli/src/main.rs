//! The Hermes Tool Dispatch Runtime on the command line. Thin: it reads options, puts a runtime together and prints
//! what comes back.
#![allow(clippy::disallowed_methods, reason = "the command is the rim: it reads options, files and the environment")]
#![allow(clippy::print_stdout, reason = "the command's answers go to standard output")]

mod approvals;
mod args;
mod audit;
mod author;
mod call;
mod client;
mod configuration;
mod denials;
mod doctor;
mod failure;
mod identity;
mod learning;
mod log;
mod output;
mod person;
mod plugin;
mod policy;
mod results;
mod run;
mod serve;
mod servers;
mod session;
mod setup;
mod stats;
mod terminal;
mod token;
mod tools;
mod trajectory;
mod trust;
mod webhook;

use args::{Arguments, ClientCommand, Command};
use clap::CommandFactory;
use failure::Failure;
use std::process::ExitCode;
use std::sync::Arc;

/// Plugins that are part of the program.
static BUILT_IN: &[hermes_runtime::adapter::plugin::Embedded] = include!(concat!(env!("OUT_DIR"), "/plugins.rs"));

fn main() -> ExitCode {
    // The same program starts the programs of tools and compiles components, each in a process of its own.
    hermes_runtime::helper_main();
    let arguments = match Arguments::read() {
        Ok(arguments) => Arc::new(arguments),
        Err(error) => return output::usage(&error),
    };
    let log = log::start(&arguments);
    let ended = run(&arguments);
    log.finish();
    match ended {
        Ok(0) if output::is_lost() => ExitCode::from(1),
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            output::failure(&failure, arguments.output.format());
            ExitCode::from(failure.exit)
        }
    }
}

fn run(arguments: &Arc<Arguments>) -> Result<u8, Failure> {
    match &arguments.command {
        Command::Call(call) => on_runtime(call::run(arguments, call)),
        Command::Run => on_runtime(run::run(arguments)),
        Command::Serve(command) => on_runtime(serve::run(arguments, command)),
        Command::Token(command) => token::run(arguments, command),
        Command::Client(ClientCommand::Add(command)) => client::add(arguments, command),
        Command::Servers(command) => servers::run(arguments, command),
        Command::Tools(command) => on_runtime(tools::run(arguments, command)),
        Command::Plugin(command) => plugin::run(arguments, command),
        Command::Policy(command) => on_runtime(policy::run(arguments, command)),
        Command::Session(command) => on_runtime(session::run(arguments, command)),
        Command::Approvals(command) => on_runtime(approvals::run(arguments, command)),
        Command::Stats(command) => on_runtime(stats::run(arguments, command)),
        Command::Audit(command) => audit::run(arguments, command),
        Command::Trajectory(command) => on_runtime(trajectory::run(arguments, command)),
        Command::Results(command) => results::run(arguments, command),
        Command::Config(command) => configuration::run(arguments, command),
        Command::Trust(command) => trust::run(arguments, command),
        Command::Doctor => on_runtime(doctor::run(arguments)),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Arguments::command(), "hermes-dispatch", &mut script);
            output::line(String::from_utf8_lossy(&script).trim_end());
            Ok(0)
        }
        Command::Man { dir } => man(dir.as_deref()),
    }
}

fn on_runtime(work: impl Future<Output = Result<u8, Failure>>) -> Result<u8, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::internal(format!("no threads can be started: {error}")))?;
    let code = runtime.block_on(work);
    // A thread that the kernel holds must not hold the command.
    runtime.shutdown_timeout(std::time::Duration::from_millis(200));
    code
}

fn man(dir: Option<&std::path::Path>) -> Result<u8, Failure> {
    let failed = |error: std::io::Error| Failure::usage(format!("the manual cannot be written: {error}"));
    match dir {
        Some(dir) => {
            std::fs::create_dir_all(dir).map_err(failed)?;
            clap_mangen::generate_to(Arguments::command(), dir).map_err(failed)?;
        }
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(Arguments::command()).render(&mut page).map_err(failed)?;
            output::line(String::from_utf8_lossy(&page).trim_end());
        }
    }
    Ok(0)
}

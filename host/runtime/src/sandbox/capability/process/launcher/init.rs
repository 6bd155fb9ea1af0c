//! What does the first process of a sandbox do? It sets up the view and the limits, starts the program as its child,
//! reaps whatever is left to it, and ends with the program, which makes the kernel end everything else in there.

use super::super::plan::{Cause, Failed, Layer, Message, Plan};
use super::{Identity, channel, confine, root, say, system};
use rustix::process::{Pid, WaitOptions, WaitStatus, wait};
use std::ffi::CString;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

/// Runs the program. Never returns.
pub(super) fn run(
    control: &mut UnixStream,
    parent: &mut UnixStream,
    plan: Plan,
    input: Vec<u8>,
    identity: Identity,
) -> ! {
    let code = match live_and_die_with(parent).and_then(|()| start(control, parent, &plan, input, identity)) {
        Ok(program) => {
            say(control, &outcome(program));
            0
        }
        Err(failed) => {
            say(control, &Message::Failed(failed));
            1
        }
    };
    system::exit(code)
}

/// Asks the kernel to be ended with the launcher, then makes sure that the launcher was still there.
fn live_and_die_with(parent: &mut UnixStream) -> Result<(), Failed> {
    let failed = |error: std::io::Error| Failed::layer("launcher", error);
    system::set(libc::PR_SET_PDEATHSIG, libc::SIGKILL as u64).map_err(failed)?;
    let mut answer = [0];
    parent.write_all(&answer).and_then(|()| parent.read_exact(&mut answer)).map_err(failed)
}

fn start(
    control: &mut UnixStream,
    parent: &mut UnixStream,
    plan: &Plan,
    input: Vec<u8>,
    identity: Identity,
) -> Result<Pid, Failed> {
    let mut layers = Vec::new();
    let watched = root::build(plan, identity, &mut layers)?;
    // Before anything runs that could be of interest to them: whatever ends this process, the launcher knows.
    super::send(parent, &watched).map_err(|error| Failed::layer("launcher", error))?;
    if plan.channel.is_some() {
        system::raise_loopback().map_err(|error| Failed::layer("network of its own", error))?;
    }
    confine::confine(plan, identity, &mut layers)?;
    if let Some(wanted) = &plan.channel {
        channel::hand_over(wanted).map_err(|error| Failed::layer("channel", error))?;
    }
    let streams = match plan.talks {
        true => Streams::handed_over()?,
        false => Streams::new(&input)?,
    };
    start_program(control, plan, &streams, layers)
}

/// The program's input, and its output if it is not the launcher's own.
struct Streams {
    input: std::io::PipeReader,
    output: Option<std::io::PipeWriter>,
}

impl Streams {
    /// A pipe that a copy of this process fills, so that input of any size can be given and then ends.
    fn new(input: &[u8]) -> Result<Streams, Failed> {
        let failed = |error: std::io::Error| Failed::layer("launcher", error);
        let (reader, mut writer) = std::io::pipe().map_err(failed)?;
        if input.is_empty() {
            return Ok(Streams { input: reader, output: None });
        }
        if system::fork().map_err(failed)?.is_none() {
            drop(reader);
            let _ = writer.write_all(input);
            system::exit(0);
        }
        Ok(Streams { input: reader, output: None })
    }

    /// Pipes of which the runtime has the other ends.
    fn handed_over() -> Result<Streams, Failed> {
        let failed = |error: std::io::Error| Failed::layer("launcher", error);
        let (input, theirs_to_write) = std::io::pipe().map_err(failed)?;
        let (theirs_to_read, output) = std::io::pipe().map_err(failed)?;
        channel::send(&[theirs_to_write.into(), theirs_to_read.into()]).map_err(failed)?;
        Ok(Streams { input, output: Some(output) })
    }
}

fn start_program(control: &mut UnixStream, plan: &Plan, streams: &Streams, layers: Vec<Layer>) -> Result<Pid, Failed> {
    let failed = |error: std::io::Error| Failed::layer("launcher", error);
    let (mut trouble, trouble_in_child) = std::io::pipe().map_err(failed)?;
    let Some(id) = system::fork().map_err(failed)? else {
        drop(trouble);
        become_program(plan, streams, trouble_in_child);
    };
    drop(trouble_in_child);
    let mut text = Vec::new();
    trouble.read_to_end(&mut text).map_err(failed)?;
    if !text.is_empty() {
        return Err(serde_json::from_slice(&text).map_err(|error| Failed::layer("launcher", error))?);
    }
    say(control, &Message::Started(layers));
    Pid::from_raw(id).ok_or_else(|| Failed::layer("launcher", "the program has no number"))
}

/// Turns this copy into the program. What fails before that goes into the pipe, which the program itself never has.
fn become_program(plan: &Plan, streams: &Streams, trouble: std::io::PipeWriter) -> ! {
    // Out of the way of the numbers that a program's descriptors have.
    let mut trouble = match rustix::io::fcntl_dupfd_cloexec(&trouble, channel::ABOVE) {
        Ok(moved) => std::io::PipeWriter::from(moved),
        Err(_) => trouble,
    };
    let Err(failed) = execute(plan, streams);
    let text = serde_json::to_vec(&failed).unwrap_or_default();
    let _ = trouble.write_all(&text);
    system::exit(127)
}

fn execute(plan: &Plan, streams: &Streams) -> Result<std::convert::Infallible, Failed> {
    let broken = |error: std::io::Error| Failed::layer("launcher", error);
    rustix::process::setsid().map_err(|error| broken(error.into()))?;
    system::move_descriptor(&streams.input, 0).map_err(broken)?;
    if let Some(output) = &streams.output {
        system::move_descriptor(output, 1).map_err(broken)?;
    }
    system::reset_signals();
    match plan.channel {
        Some(_) => channel::enter().map_err(broken)?,
        None => enter_directory(plan)?,
    }
    let c = |text: &str| {
        CString::new(text).map_err(|_| Failed { cause: Cause::TooLarge, message: "a text has a NUL in it".into() })
    };
    let args = std::iter::once(&plan.program).chain(&plan.args).map(|text| c(text)).collect::<Result<Vec<_>, _>>()?;
    let variables = plan.environment.iter();
    let environment = variables.map(|(name, value)| c(&format!("{name}={value}"))).collect::<Result<Vec<_>, _>>()?;
    let mut last = None;
    for place in places(plan) {
        let error = system::execute(&c(&place)?, &args, &environment);
        match error.raw_os_error() {
            Some(libc::ENOENT | libc::ENOTDIR) => {}
            _ => last = last.or(Some((error, place))),
        }
    }
    Err(refused(plan, last))
}

/// Where the program can be: the path itself, or each folder of the search path.
fn places(plan: &Plan) -> Vec<String> {
    if plan.program.contains('/') {
        return vec![plan.program.clone()];
    }
    let path = plan.environment.iter().find(|(name, _)| name == "PATH").map_or("", |(_, value)| value.as_str());
    path.split(':')
        .filter(|folder| folder.starts_with('/'))
        .map(|folder| format!("{folder}/{}", plan.program))
        .collect()
}

fn refused(plan: &Plan, last: Option<(std::io::Error, String)>) -> Failed {
    let shown = crate::document::excerpt(&plan.program, 200);
    let failed = |cause, what: &str| Failed { cause, message: format!("`{shown}` {what}") };
    let Some((error, place)) = last else {
        return failed(Cause::ProgramNotFound, "is no program that can be found");
    };
    let is_directory =
        rustix::fs::stat(&*place).is_ok_and(|status| rustix::fs::FileType::from_raw_mode(status.st_mode).is_dir());
    match error.raw_os_error() {
        _ if is_directory => failed(Cause::NotAProgram, "is a directory, not a program"),
        Some(libc::EACCES | libc::EPERM) => failed(Cause::PermissionDenied, "may not be run"),
        Some(libc::ENOEXEC) => failed(Cause::NotAProgram, "is no program that the system can run"),
        Some(libc::E2BIG) => failed(Cause::TooLarge, "cannot be given so many or so long arguments"),
        _ => failed(Cause::NotAProgram, &format!("cannot be run: {}", error.kind())),
    }
}

/// Changes to the working directory and makes sure that no link led out of the grants.
fn enter_directory(plan: &Plan) -> Result<(), Failed> {
    use std::io::ErrorKind;
    let shown = crate::document::excerpt(&plan.directory, 200);
    let failed = |cause, what: &str| Failed { cause, message: format!("the working directory `{shown}` {what}") };
    if let Err(error) = rustix::process::chdir(&*plan.directory) {
        return Err(match std::io::Error::from(error).kind() {
            ErrorKind::NotFound => failed(Cause::DirectoryNotFound, "does not exist"),
            ErrorKind::NotADirectory => failed(Cause::NotADirectory, "is no directory"),
            ErrorKind::PermissionDenied => failed(Cause::PermissionDenied, "may not be entered"),
            other => failed(Cause::NotADirectory, &format!("cannot be entered: {other}")),
        });
    }
    if plan.talks {
        return Ok(());
    }
    let real = rustix::process::getcwd(Vec::new()).map_err(|error| Failed::layer("launcher", error))?;
    let real = real.to_string_lossy();
    // Without a grant there is the root, which nobody can change.
    let is_root = plan.grants.is_empty() && real == "/";
    let inside =
        is_root || plan.grants.iter().any(|grant| crate::permission::target::path::is_beneath(&real, &grant.name));
    if inside { Ok(()) } else { Err(failed(Cause::OutOfBounds, "leads out of its grant")) }
}

/// Waits for the program. Whatever else ends meanwhile was left to this process and is reaped.
fn outcome(program: Pid) -> Message {
    loop {
        let ended = wait(WaitOptions::empty());
        match ended {
            Ok(Some((pid, status))) if pid == program => return meaning(status),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return Message::Signal(libc::SIGKILL as u8),
        }
    }
}

fn meaning(status: WaitStatus) -> Message {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Message::Code(code as u8),
        (None, Some(signal)) => Message::Signal(signal as u8),
        (None, None) => Message::Signal(libc::SIGKILL as u8),
    }
}

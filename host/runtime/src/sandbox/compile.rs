//! How is a component compiled without harm to the host? In a process of its own, with limits on memory and time that
//! the kernel keeps, which reads the component and hands back code. Both sides of it are here.
#![expect(clippy::disallowed_methods, reason = "this is the one place that starts the compiling process")]

use super::engine;
use super::install::InstallError;
use crate::config::InstallSettings;
use serde::{Deserialize, Serialize};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use wasmtime::{Engine, InstanceAllocationStrategy};

/// The first argument that turns a program of ours into the compiling process.
pub(crate) const COMPILE: &str = "__compile";
/// Most bytes of compiled code: some times the largest component.
const CODE: u64 = 1 << 30;
/// Most bytes of what is said about a component that cannot be compiled.
const SAID: usize = 4096;
/// Address space beyond the memory: threads' stacks and what the allocator reserves.
const RESERVED: u64 = 4 << 30;
/// Threads that compile. More take more memory, of which there is a limit.
const THREADS: usize = 4;

/// Who compiles. Lifetime: the runtime.
pub(crate) struct Compiler {
    pub(crate) helper: Option<PathBuf>,
    pub(crate) settings: InstallSettings,
    /// As the engine was made.
    pub(crate) slots: u32,
    pub(crate) memory: usize,
}

/// What the compiling process has to know.
#[derive(Serialize, Deserialize)]
struct Task {
    slots: u32,
    memory: usize,
    seconds: u64,
    bytes: u64,
}

impl Compiler {
    /// Compiles a component in its binary form.
    ///
    /// # Errors
    /// It cannot be compiled, or not within the limits, or there is no program that could.
    pub(crate) fn compile(&self, binary: &[u8]) -> Result<Vec<u8>, InstallError> {
        let helper = self.helper.as_ref().ok_or(InstallError::NoHelper)?;
        let task = Task {
            slots: self.slots,
            memory: self.memory,
            seconds: self.settings.seconds,
            bytes: self.settings.memory_mb.saturating_mul(1 << 20),
        };
        let failed = |error: std::io::Error| InstallError::Compiler(error.to_string());
        let mut child = spawn(helper).map_err(failed)?;
        let answer = converse(&mut child, &task, binary);
        let status = gone(&mut child).map_err(failed)?;
        match answer.map_err(failed)? {
            Some(answer) => read_answer(answer).unwrap_or_else(|| Err(self.why(status))),
            None => Err(self.too_long()),
        }
    }

    fn too_long(&self) -> InstallError {
        InstallError::TooCostly(format!("{} s of the processor's time", self.settings.seconds))
    }

    /// Why the process said nothing.
    fn why(&self, status: std::process::ExitStatus) -> InstallError {
        use rustix::process::Signal;
        use std::os::unix::process::ExitStatusExt;
        match status.signal() {
            Some(signal) if signal == Signal::XCPU.as_raw() => self.too_long(),
            // What cannot get memory aborts.
            Some(signal) if signal == Signal::ABORT.as_raw() => {
                InstallError::TooCostly(format!("{} MiB of memory", self.settings.memory_mb))
            }
            Some(_) | None => InstallError::Compiler(format!("it ended without a word, {status}")),
        }
    }
}

/// Waits until a process that has answered, or was ended, is gone.
fn gone(child: &mut Child) -> std::io::Result<std::process::ExitStatus> {
    /// How long it may take to end by itself, so that it can be told how it did.
    const ENDING: Duration = Duration::from_secs(2);
    let until = Instant::now() + ENDING;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if Instant::now() > until {
            child.kill()?;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn spawn(helper: &Path) -> std::io::Result<Child> {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(THREADS);
    Command::new(helper)
        .arg(COMPILE)
        .env_clear()
        .env("RAYON_NUM_THREADS", threads.to_string())
        .env("MALLOC_ARENA_MAX", threads.to_string())
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
}

/// Hands over the component and waits for the answer; `None` when the time is over. Nobody reads or writes any more
/// once the process is ended.
fn converse(child: &mut Child, task: &Task, binary: &[u8]) -> std::io::Result<Option<Vec<u8>>> {
    let gone = || std::io::Error::other("its pipes are not there");
    let (mut to, from) = (child.stdin.take().ok_or_else(gone)?, child.stdout.take().ok_or_else(gone)?);
    let head = serde_json::to_vec(task)?;
    let length = u32::try_from(head.len()).map_err(std::io::Error::other)?;
    // The process is ended by its own limit on the processor's time; this is for one that sleeps.
    let until = Instant::now() + Duration::from_secs(task.seconds.saturating_mul(2));
    std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        scope.spawn(move || {
            let mut answer = Vec::new();
            let read = from.take(CODE).read_to_end(&mut answer);
            let _ = sender.send(read.map(|_| answer));
        });
        scope.spawn(move || {
            // One that ends early does not read all, which its answer says.
            let _ = to.write_all(&length.to_le_bytes()).and_then(|()| to.write_all(&head));
            let _ = to.write_all(binary);
        });
        match receiver.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(answer) => answer.map(Some),
            Err(_) => {
                let _ = child.kill();
                Ok(None)
            }
        }
    })
}

/// The first byte says what the rest is; `None` if it is no answer.
fn read_answer(mut answer: Vec<u8>) -> Option<Result<Vec<u8>, InstallError>> {
    match answer.first()? {
        0 => Some(Ok(answer.split_off(1))),
        1 => Some(Err(InstallError::Invalid(crate::document::excerpt(&String::from_utf8_lossy(&answer[1..]), SAID)))),
        _ => None,
    }
}

/// The compiling process: reads, compiles, answers, and gives what it should exit with.
pub(crate) fn serve() -> i32 {
    match compile_once(&mut std::io::stdin().lock()) {
        Ok(answer) => match std::io::stdout().lock().write_all(&answer) {
            Ok(()) => 0,
            Err(_) => 1,
        },
        Err(_) => 1,
    }
}

fn compile_once(input: &mut impl Read) -> std::io::Result<Vec<u8>> {
    let mut length = [0; 4];
    input.read_exact(&mut length)?;
    let mut head = Vec::new();
    input.take(u32::from_le_bytes(length).into()).read_to_end(&mut head)?;
    let task: Task = serde_json::from_slice(&head)?;
    confine(&task)?;
    let mut binary = Vec::new();
    input.take(super::component::BYTES).read_to_end(&mut binary)?;
    let compiled = engine_for(&task).and_then(|engine| engine.precompile_component(&binary));
    Ok(match compiled {
        Ok(code) => [&[0], code.as_slice()].concat(),
        Err(error) => [&[1], format!("{error:#}").as_bytes()].concat(),
    })
}

/// The same settings but for the room for running calls, which nobody needs here and which takes address space.
fn engine_for(task: &Task) -> wasmtime::Result<Engine> {
    Engine::new(engine::settings(task.slots, task.memory).allocation_strategy(InstanceAllocationStrategy::OnDemand))
}

/// From here on this process can use up so much and leave nothing behind.
fn confine(task: &Task) -> std::io::Result<()> {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let limit = |resource, most: u64| setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) });
    // It ends with the thread that waits for it.
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    let _ = rustix::process::nice(5);
    limit(Resource::Core, 0)?;
    limit(Resource::Fsize, 0)?;
    limit(Resource::Nofile, 32)?;
    limit(Resource::Data, task.bytes)?;
    limit(Resource::As, task.bytes.saturating_add(RESERVED))?;
    let seconds = task.seconds.max(1);
    // The kernel's first word says why; the second ends one that would not listen.
    setrlimit(Resource::Cpu, Rlimit { current: Some(seconds), maximum: Some(seconds + 1) })?;
    Ok(())
}

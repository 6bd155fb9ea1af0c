//! Programs of the machine, in a sandbox of the operating system. A component names program, arguments and directory;
//! what the program sees and may do is decided here, by the grants, and kept by the kernel.

pub(super) mod child;
#[cfg(all(feature = "process", target_os = "linux"))]
pub(crate) mod launcher;
mod output;
pub(super) mod plan;
#[cfg(feature = "mcp")]
pub(super) mod server;
mod work;

use super::files::Roots;
use crate::config::{Config, ProcessSettings};
use crate::error::Kind;
use crate::sandbox::State;
pub(crate) use crate::sandbox::bindings::hermes::tool::process::Reason;
use crate::sandbox::bindings::hermes::tool::process::{
    Channel, Chunk, Command, Ended, Ending as WitEnding, Event, Failure, Host, HostChild, Rest,
};
use child::{Ending, Launcher, Started};
use output::Stream;
pub(crate) use plan::LAUNCH;
pub use plan::Layer;
use plan::{Failed, Mount, Plan, ProcessLimits};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use wasmtime::component::Resource;

/// Most bytes of one stream's head and of its tail.
const KEPT: u32 = 4 << 20;
/// Most bytes of all arguments and variables; the kernel's own limit is near.
const TEXTS: usize = 2 << 20;
/// Where programs are looked for.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";
/// Programs that one attempt runs at the same time.
const RUNNING: u32 = 16;
/// How often the disk is looked at while a program runs that may write.
const LOOK: Duration = Duration::from_millis(200);

/// What programs get on this machine. Lifetime: the runtime.
pub(crate) struct Machine {
    helper: Option<PathBuf>,
    settings: ProcessSettings,
    grants: Vec<Mount>,
    hidden: Vec<String>,
    /// Kept from tools and no secret: shown, so that git finds its files as they were, and not to be changed.
    fixed: Vec<String>,
    /// Those whose content is to stay unknown, also as a program may have kept it elsewhere.
    secrets: Vec<String>,
}

/// What the programs of one attempt get.
#[derive(Clone)]
pub(crate) struct Programs {
    machine: Arc<Machine>,
    roots: Arc<Roots>,
    writable: bool,
    network: bool,
    deadline: Instant,
    late: Arc<AtomicBool>,
}

/// A program that runs.
#[expect(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct Child {
    launcher: Launcher,
    out: Stream,
    err: Stream,
    deadline: Instant,
    late: Arc<AtomicBool>,
    disk: Option<Disk>,
    ended: Option<Ended>,
}

/// How much of the disk is left beneath a grant, and how little may be.
struct Disk {
    grants: Vec<(PathBuf, u64)>,
    next: Instant,
}

impl Machine {
    pub(crate) fn of(config: &Config, helper: Option<PathBuf>, hidden: Vec<String>) -> Machine {
        let mount = |(name, grant): (&String, &crate::config::Grant)| Mount {
            name: format!("/{name}"),
            source: std::path::absolute(&grant.path).unwrap_or_else(|_| grant.path.clone()),
            writable: grant.mode == crate::config::Access::ReadWrite,
        };
        let grants = config.grants.iter().map(mount).collect();
        let secrets = config.virtual_secrets();
        let fixed = config.virtual_protected().difference(&secrets).cloned().collect();
        let secrets = secrets.into_iter().collect();
        Machine { helper, settings: config.process.clone(), grants, hidden, fixed, secrets }
    }

    fn limits(&self) -> ProcessLimits {
        let settings = &self.settings;
        let bytes = |mb: u64| mb.saturating_mul(1 << 20);
        ProcessLimits {
            processes: settings.processes,
            file: bytes(settings.file_mb),
            memory: bytes(settings.memory_mb),
            temporary: bytes(settings.temporary_mb),
        }
    }

    fn environment(&self, added: Vec<(String, String)>) -> Vec<(String, String)> {
        let path = self.settings.path.iter().map(|folder| folder.to_string_lossy().into_owned());
        let path = path.chain([PATH.to_owned()]).collect::<Vec<_>>().join(":");
        let own = [
            ("PATH", path.as_str()),
            ("HOME", "/var/agent"),
            ("LANG", "C.UTF-8"),
            ("TERM", "dumb"),
            ("TMPDIR", "/tmp"),
        ];
        let mut all: Vec<(String, String)> = own.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        all.retain(|(name, _)| added.iter().all(|(other, _)| other != name));
        all.extend(added);
        all
    }
}

impl Programs {
    /// `deadline` is when programs are ended, a little before the attempt itself is.
    pub(crate) fn new(
        machine: Arc<Machine>,
        roots: Arc<Roots>,
        writable: bool,
        network: bool,
        deadline: Instant,
    ) -> Programs {
        Programs { machine, roots, writable, network, deadline, late: Arc::default() }
    }

    /// Whether a program is being ended because of its time, so that the component still has to tell.
    pub(crate) fn late(&self) -> Arc<AtomicBool> {
        self.late.clone()
    }

    fn plan(&self, command: Command) -> Result<(Plan, Vec<u8>), Failure> {
        check_texts(&command)?;
        self.roots.check(&command.directory).map_err(|failure| Failure {
            reason: Reason::PathOutOfBounds,
            message: format!("the working directory {}", failure.message),
        })?;
        let mut grants = self.machine.grants.clone();
        grants.iter_mut().for_each(|grant| grant.writable &= self.writable);
        let input = command.input.unwrap_or_default();
        let plan = Plan {
            program: command.program,
            args: command.args,
            environment: self.machine.environment(command.environment),
            directory: command.directory,
            input: input.len(),
            grants,
            hidden: self.machine.hidden.clone(),
            fixed: self.machine.fixed.clone(),
            system: self.machine.settings.system.clone(),
            network: self.network,
            files: Vec::new(),
            channel: None,
            talks: false,
            limits: self.machine.limits(),
        };
        Ok((plan, input))
    }

    async fn spawn(&self, command: Command) -> Result<Child, Failure> {
        let Some(helper) = &self.machine.helper else {
            return Err(Failure {
                reason: Reason::Unavailable,
                message: "this program cannot start others: it does not call `helper_main` and names no helper".into(),
            });
        };
        let kept = (command.head.min(KEPT) as usize, command.tail.min(KEPT) as usize);
        let disk = self.writable.then(|| Disk::measure(&self.machine));
        let (plan, input) = self.plan(command)?;
        let Started { launcher, out, err, .. } =
            child::start(helper, &plan, &input, kept, self.deadline).await.map_err(Failure::from)?;
        Ok(Child { launcher, out, err, deadline: self.deadline, late: self.late.clone(), disk, ended: None })
    }
}

/// The parts of the sandbox as they are on this machine, or which one is not there.
pub(crate) async fn layers(machine: &Machine) -> Result<Vec<Layer>, String> {
    let helper = machine.helper.as_ref().ok_or("no program of ours can be the launcher")?;
    let plan = Plan {
        program: "true".into(),
        args: Vec::new(),
        environment: machine.environment(Vec::new()),
        directory: machine.grants.first().map_or("/".into(), |grant| grant.name.clone()),
        input: 0,
        grants: machine.grants.clone(),
        hidden: machine.hidden.clone(),
        fixed: machine.fixed.clone(),
        system: machine.settings.system.clone(),
        network: false,
        files: Vec::new(),
        channel: None,
        talks: false,
        limits: machine.limits(),
    };
    let deadline = Instant::now() + Duration::from_secs(10);
    let started = child::start(helper, &plan, &[], (0, 0), deadline).await.map_err(|failed| failed.message)?;
    Ok(started.layers)
}

fn check_texts(command: &Command) -> Result<(), Failure> {
    let failure = |reason, message: String| Err(Failure { reason, message });
    let mut size = command.program.len();
    for (index, text) in command.args.iter().enumerate() {
        size += text.len() + 9;
        if text.contains('\0') {
            return failure(Reason::InvalidArgument, format!("argument {} has a NUL character", index + 1));
        }
    }
    if command.program.is_empty() || command.program.contains('\0') {
        return failure(Reason::InvalidArgument, "the program's name is empty or has a NUL character".into());
    }
    for (name, value) in &command.environment {
        size += name.len() + value.len() + 10;
        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            let shown = crate::document::excerpt(name, 80);
            return failure(Reason::InvalidArgument, format!("the variable `{shown}` has no possible name or value"));
        }
    }
    match size > TEXTS {
        true => failure(Reason::TooLarge, format!("arguments and variables have {size} bytes, more than {TEXTS}")),
        false => Ok(()),
    }
}

impl From<Failed> for Failure {
    fn from(failed: Failed) -> Failure {
        Failure { reason: failed.cause.into(), message: failed.message }
    }
}

impl Child {
    /// Waits for what happens next. Dropping the future loses nothing but the bytes of one event.
    async fn next(&mut self) -> Event {
        if let Some(ended) = &self.ended {
            return Event::Ended(ended.clone());
        }
        let mut ending = None;
        loop {
            let look = self.disk.as_ref().map_or(self.deadline, |disk| disk.next.min(self.deadline));
            let came = tokio::select! {
                chunk = self.out.read(), if !self.out.is_over() => chunk.map(|data| (Channel::Out, data)),
                chunk = self.err.read(), if !self.err.is_over() => chunk.map(|data| (Channel::Err, data)),
                ended = self.launcher.ended(&mut ending), if self.out.is_over() && self.err.is_over() => {
                    if ended.is_err() {
                        self.launcher.end().await;
                    }
                    break;
                }
                () = tokio::time::sleep_until(look.into()) => None,
            };
            if let Some((channel, data)) = came {
                return Event::Output(Chunk { channel, data });
            }
            if let Some(why) = self.reason_to_end() {
                self.launcher.end().await;
                ending = Some(why);
                break;
            }
        }
        // A launcher that was lost took the program with it.
        self.finish(ending.unwrap_or(Ending::Signal(9)))
    }

    fn reason_to_end(&mut self) -> Option<Ending> {
        if Instant::now() >= self.deadline {
            self.late.store(true, Ordering::Relaxed);
            return Some(Ending::TimedOut);
        }
        let disk = self.disk.as_mut().filter(|disk| Instant::now() >= disk.next)?;
        disk.is_short().then_some(Ending::Limit("disk"))
    }

    /// Nothing runs any more, so what is still in the pipes is all there is.
    fn finish(&mut self, ending: Ending) -> Event {
        for stream in [&mut self.out, &mut self.err] {
            // The tail takes it: what ends here was ended or has been read to its end.
            while !stream.is_over() && stream.drain_ready() {}
        }
        let rest = |stream: &mut Stream| Rest { total: stream.total(), tail: stream.tail() };
        let ending = match ending {
            Ending::Code(code) => WitEnding::Code(code),
            Ending::Signal(signal) => WitEnding::Signal(signal),
            Ending::TimedOut => WitEnding::TimedOut,
            Ending::Limit(name) => WitEnding::Limit(name.to_owned()),
        };
        let ended = Ended { ending, out: rest(&mut self.out), err: rest(&mut self.err) };
        self.ended = Some(ended.clone());
        Event::Ended(ended)
    }
}

impl Disk {
    /// A program may use up what the settings say of what is free now.
    fn measure(machine: &Machine) -> Disk {
        let most = machine.settings.disk_mb.saturating_mul(1 << 20);
        let writable = machine.grants.iter().filter(|grant| grant.writable);
        let grants =
            writable.filter_map(|grant| Some((grant.source.clone(), free(&grant.source)?.saturating_sub(most))));
        Disk { grants: grants.collect(), next: Instant::now() + LOOK }
    }

    fn is_short(&mut self) -> bool {
        self.next = Instant::now() + LOOK;
        self.grants.iter().any(|(place, least)| free(place).is_some_and(|free| free < *least))
    }
}

fn free(place: &std::path::Path) -> Option<u64> {
    let status = rustix::fs::statvfs(place).ok()?;
    Some(status.f_bavail.saturating_mul(status.f_frsize))
}

impl Host for State {
    async fn spawn(&mut self, command: Command) -> wasmtime::Result<Result<Resource<Child>, Failure>> {
        if self.running >= RUNNING {
            return Err(self.meter.stop(Kind::HandleLimit));
        }
        self.meter.count_bytes(command.input.as_ref().map_or(0, Vec::len));
        match self.programs.spawn(command).await {
            Ok(child) => {
                self.running += 1;
                Ok(Ok(self.wasi.table.push(child)?))
            }
            Err(failure) => Ok(Err(failure)),
        }
    }

    async fn hidden(&mut self) -> wasmtime::Result<Vec<String>> {
        Ok(self.programs.machine.secrets.clone())
    }

    async fn ready(&mut self) -> wasmtime::Result<Result<(), Failure>> {
        let missing = |message| Failure { reason: Reason::LayerMissing, message };
        Ok(layers(&self.programs.machine).await.map(drop).map_err(missing))
    }
}

impl HostChild for State {
    async fn next(&mut self, child: Resource<Child>) -> wasmtime::Result<Event> {
        let event = self.wasi.table.get_mut(&child)?.next().await;
        if let Event::Output(chunk) = &event {
            self.meter.count_bytes(chunk.data.len());
        }
        Ok(event)
    }

    async fn drop(&mut self, child: Resource<Child>) -> wasmtime::Result<()> {
        let mut child = self.wasi.table.delete(child)?;
        self.running -= 1;
        if child.ended.is_none() {
            child.launcher.end().await;
        }
        Ok(())
    }
}

//! Who sets up the sandbox of a program? A process of its own for each one, started from this very executable. It
//! takes the plan from its standard input, makes new namespaces, and waits outside of them: when the runtime lets go
//! of the socket, it ends the first process in them, and with it the kernel ends all others.

mod channel;
mod confine;
mod filter;
mod guard;
mod init;
mod root;
mod system;

use super::plan::{Failed, Message, Plan};
use guard::Watched;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, kill_process, pidfd_open, waitpid};
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

/// Longest plan; arguments and variables are most of it, and the system takes no more than 2 MiB of them.
const PLAN: usize = 16 << 20;

/// Who the program is, in the eyes of the kernel.
#[derive(Clone, Copy, Debug)]
struct Identity {
    uid: u32,
    gid: u32,
    /// Whether the launcher may mount and map as it likes; otherwise it does so in a user namespace of its own.
    privileged: bool,
}

/// The launcher: runs one program and ends with it.
pub(crate) fn main() -> ! {
    launch();
    system::exit(0)
}

fn launch() {
    // Whatever the runtime's program has open for its children too is none of ours.
    if system::close_from(3).is_err() {
        return;
    }
    // Closed for programs; number 0 becomes the program's input.
    let Ok(control) = rustix::io::fcntl_dupfd_cloexec(std::io::stdin().as_fd(), 3) else { return };
    let mut control = UnixStream::from(control);
    match prepare(&mut control) {
        Ok((child, parent, identity)) => {
            let watched = wait_outside(&control, parent, child);
            let is_user = || !identity.privileged || system::become_user(identity.uid, identity.gid).is_ok();
            if !watched.is_empty() && is_user() {
                let moved = guard::put_aside(&watched);
                if !moved.is_empty() {
                    say(&mut control, &Message::PutAside(moved));
                }
            }
        }
        Err(failed) => say(&mut control, &Message::Failed(failed)),
    }
}

/// Reads the plan and starts the first process of the new namespaces.
fn prepare(control: &mut UnixStream) -> Result<(Pid, UnixStream, Identity), Failed> {
    let (plan, input) = read_plan(control).map_err(|error| Failed::layer("launcher", error))?;
    let identity = enter_namespaces(&plan)?;
    let (mut parent, mut child) = UnixStream::pair().map_err(|error| Failed::layer("launcher", error))?;
    let id = system::fork().map_err(|error| Failed::layer("process namespace", error))?;
    let Some(id) = id.and_then(Pid::from_raw) else {
        drop(parent);
        init::run(control, &mut child, plan, input, identity);
    };
    drop(child);
    // The first process asks whether this one is still there, after it has asked to die with it.
    let mut asked = [0];
    let _ = parent.read_exact(&mut asked).and_then(|()| parent.write_all(&asked));
    Ok((id, parent, identity))
}

/// Sends a value to the process outside.
fn send(parent: &mut UnixStream, value: &impl serde::Serialize) -> std::io::Result<()> {
    let text = serde_json::to_vec(value)?;
    let length = u32::try_from(text.len()).map_err(std::io::Error::other)?;
    parent.write_all(&length.to_le_bytes())?;
    parent.write_all(&text)
}

/// What the process inside has sent; nothing if it is gone.
fn received(inside: &mut UnixStream) -> Option<Vec<Watched>> {
    let mut length = [0; 4];
    inside.read_exact(&mut length).ok()?;
    let length = u32::from_le_bytes(length) as usize;
    let mut text = vec![0; length.min(PLAN)];
    inside.read_exact(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

fn read_plan(control: &mut UnixStream) -> std::io::Result<(Plan, Vec<u8>)> {
    let mut length = [0; 4];
    control.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length) as usize;
    if length > PLAN {
        return Err(std::io::Error::other("the plan is too long"));
    }
    let mut text = vec![0; length];
    control.read_exact(&mut text)?;
    let plan: Plan = serde_json::from_slice(&text)?;
    let mut input = vec![0; plan.input];
    control.read_exact(&mut input)?;
    Ok((plan, input))
}

/// Makes the namespaces: as the administrator directly, for others within a user namespace.
fn enter_namespaces(plan: &Plan) -> Result<Identity, Failed> {
    use system::{CLONE_NEWCGROUP, CLONE_NEWIPC, CLONE_NEWNET, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWUSER, CLONE_NEWUTS};
    let network = if plan.network { 0 } else { CLONE_NEWNET };
    let flags = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP | network;
    let (uid, gid) = (rustix::process::geteuid(), rustix::process::getegid());
    if uid.is_root() && system::unshare(flags).is_ok() {
        // Nobody else has this number, so that limits for each user are limits for each program.
        let number = USERS + std::process::id();
        return Ok(Identity { uid: number, gid: number, privileged: true });
    }
    system::unshare(CLONE_NEWUSER | flags)
        .map_err(|error| Failed::layer("namespaces (user namespaces have to be allowed)", error))?;
    let (uid, gid) = (uid.as_raw(), gid.as_raw());
    let map = |file: &str, text: String| {
        write(&PathBuf::from("/proc/self").join(file), &text).map_err(|error| Failed::layer("user namespace", error))
    };
    map("setgroups", "deny".into())?;
    map("uid_map", format!("{uid} {uid} 1"))?;
    map("gid_map", format!("{gid} {gid} 1"))?;
    Ok(Identity { uid, gid, privileged: false })
}

/// The first of the numbers for programs' users, above those that systems and containers give out.
const USERS: u32 = 1_900_000_000;

#[expect(clippy::disallowed_methods, reason = "the launcher sets up namespaces through files of the kernel")]
fn write(file: &std::path::Path, text: &str) -> std::io::Result<()> {
    std::fs::OpenOptions::new().write(true).open(file)?.write_all(text.as_bytes())
}

/// Waits until the first process ends by itself, or ends it when the runtime lets go of the socket. Returns the
/// repositories that it told of.
fn wait_outside(control: &UnixStream, mut inside: UnixStream, child: Pid) -> Vec<Watched> {
    let let_go = || kill_process(child, Signal::KILL);
    let mut watched = Vec::new();
    match pidfd_open(child, PidfdFlags::empty()) {
        Ok(process) => {
            if !ends_by_itself(control, &mut inside, &process, &mut watched) {
                let _ = let_go();
            }
        }
        Err(_) => drop(let_go()),
    }
    // When this returns, the kernel has ended and reaped everything in the namespace.
    while let Err(rustix::io::Errno::INTR) = waitpid(Some(child), WaitOptions::empty()) {}
    // What it said in its last moment counts too.
    if watched.is_empty() {
        watched = received(&mut inside).unwrap_or_default();
    }
    watched
}

fn ends_by_itself(
    control: &UnixStream,
    inside: &mut UnixStream,
    process: &OwnedFd,
    watched: &mut Vec<Watched>,
) -> bool {
    let mut told = false;
    loop {
        let mut wanted = vec![
            PollFd::new(control, PollFlags::IN | PollFlags::RDHUP),
            PollFd::new(process, PollFlags::IN),
            PollFd::new(&*inside, PollFlags::IN),
        ];
        wanted.truncate(if told { 2 } else { 3 });
        let ready: Vec<bool> = match poll(&mut wanted, None) {
            Ok(_) => wanted.iter().map(|one| !one.revents().is_empty()).collect(),
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return false,
        };
        match ready[..] {
            [_, true, ..] => return true,
            // The runtime says nothing after the plan, so whatever comes is the end.
            [true, ..] => return false,
            [.., true] if !told => {
                told = true;
                *watched = received(inside).unwrap_or_default();
            }
            _ => {}
        }
    }
}

/// Tells the runtime something. If it is gone there is nobody to tell, and the tree is about to end anyway.
fn say(control: &mut UnixStream, message: &Message) {
    if let Ok(mut line) = serde_json::to_vec(message) {
        line.push(b'\n');
        let _ = control.write_all(&line);
    }
}

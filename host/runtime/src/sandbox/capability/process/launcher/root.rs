//! What does a program see of the machine? A root of its own: the system's programs and libraries read-only, a few
//! files of /etc, the grants under their virtual names, private temporary folders, and nothing else. What is not put
//! here does not exist for the program, whatever it tries.

use super::super::plan::{Failed, Layer, Mount, Plan};
use super::{Identity, guard, system};
use crate::sandbox::helper::MARK;
use rustix::fs::{Mode, OFlags, mkdir, open, readlink, stat, symlink};
use std::io::{Result, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Where the old root is while the new one is built.
const OLD: &str = "/.old";
/// Folders with programs and libraries. On most systems all but the first are links into it.
const PROGRAMS: &[&str] = &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
/// What programs need of /etc: how libraries are found, which program a name stands for, certificates, time, types.
const ETC: &[&str] = &[
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/magic",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/pki",
    "/etc/protocols",
    "/etc/services",
    "/etc/ssl/cert.pem",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/timezone",
];
/// What names on the network need besides.
const ETC_NETWORK: &[&str] = &["/etc/hosts", "/etc/resolv.conf"];
/// Devices without a state.
const DEVICES: &[&str] = &["null", "zero", "full", "random", "urandom"];
/// Links in /dev that programs expect.
const DEVICE_LINKS: &[(&str, &str)] = &[
    ("/proc/self/fd", "/dev/fd"),
    ("/proc/self/fd/0", "/dev/stdin"),
    ("/proc/self/fd/1", "/dev/stdout"),
    ("/proc/self/fd/2", "/dev/stderr"),
];
/// The private home.
pub(super) const HOME: &str = "/var/agent";

/// Builds the root and moves into it. Returns the repositories that have to be looked at when the program has ended.
pub(super) fn build(
    plan: &Plan,
    identity: Identity,
    layers: &mut Vec<Layer>,
) -> std::result::Result<Vec<guard::Watched>, Failed> {
    let wrong = |error| Failed::layer("mount namespace", error);
    begin().map_err(wrong)?;
    programs(plan).map_err(wrong)?;
    private_folders(plan, identity).map_err(wrong)?;
    text(MARK, "").map_err(wrong)?;
    for (file, content) in &plan.files {
        text(file, content).map_err(wrong)?;
    }
    devices().map_err(wrong)?;
    system::mount(Path::new("proc"), &made("/proc").map_err(wrong)?, "proc", QUIET, "subset=pid")
        .map_err(|error| Failed::layer("view of its own processes (/proc)", error))?;
    for grant in &plan.grants {
        mount_grant(plan, grant, identity)?;
    }
    if plan.talks {
        made(&plan.directory).map_err(wrong)?;
    }
    let mut guarded = Vec::new();
    let watched = guard::guard(plan, &mut guarded)?;
    for place in &plan.fixed {
        guard::fix(Path::new(place)).map_err(|error| Failed::layer("guard over the runtime's own files", error))?;
    }
    for place in &plan.hidden {
        hide(Path::new(place)).map_err(|error| Failed::layer("cover over what is kept from tools", error))?;
    }
    finish().map_err(wrong)?;
    system::set_host_name("sandbox").map_err(wrong)?;
    layers.push(layer(
        "namespaces",
        "mounts, processes, IPC, names".to_owned() + if plan.network { "" } else { ", network" },
    ));
    layers.push(layer(
        "user",
        match identity.privileged {
            true => format!("number {}, which nobody else has; grants are mapped to it", identity.uid),
            false => format!("number {}, in a user namespace", identity.uid),
        },
    ));
    layers.append(&mut guarded);
    Ok(watched)
}

const QUIET: libc::c_ulong = system::MS_NOSUID | system::MS_NODEV | system::MS_NOEXEC;

fn layer(name: &str, state: String) -> Layer {
    Layer { name: name.to_owned(), state }
}

/// Makes an empty root and keeps the old one aside.
fn begin() -> Result<()> {
    system::mount(Path::new("none"), Path::new("/"), "none", system::MS_REC | system::MS_PRIVATE, "")?;
    // A folder that is on every machine; what it holds is reached through the old root afterwards.
    let base = Path::new("/tmp");
    system::mount(Path::new("root"), base, "tmpfs", system::MS_NOSUID | system::MS_NODEV, "size=1m,mode=755")?;
    let old = base.join(OLD.trim_start_matches('/'));
    mkdir(&old, Mode::RWXU)?;
    system::pivot_root(base, &old)?;
    Ok(rustix::process::chdir("/")?)
}

/// Forgets the old root; the new one cannot be changed any more.
fn finish() -> Result<()> {
    system::unmount(Path::new(OLD))?;
    rustix::fs::rmdir(OLD)?;
    let flags = system::MS_REMOUNT | system::MS_BIND | system::MS_RDONLY | system::MS_NOSUID | system::MS_NODEV;
    system::mount(Path::new("none"), Path::new("/"), "none", flags, "")
}

fn programs(plan: &Plan) -> Result<()> {
    let network = if plan.network { ETC_NETWORK } else { &[] };
    for place in PROGRAMS.iter().chain(ETC).chain(network) {
        show(Path::new(place))?;
    }
    for place in &plan.system {
        show(place)?;
    }
    Ok(())
}

/// Shows a place of the machine where it is, read-only. What the machine does not have is left out.
fn show(place: &Path) -> Result<()> {
    let source = in_old(place);
    if let Ok(target) = readlink(&source, Vec::new()) {
        make_parents(place)?;
        let target: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(target.to_bytes());
        // A link that leads elsewhere shows what it leads to, for example the file of this machine's time zone.
        let is_relative = Path::new(target).is_relative();
        let parent = place.parent().unwrap_or(Path::new("/"));
        if is_relative && parent == Path::new("/") {
            return Ok(symlink(target, place)?);
        }
    }
    let Ok(status) = stat(&source) else { return Ok(()) };
    match rustix::fs::FileType::from_raw_mode(status.st_mode).is_dir() {
        true => drop(made(&place.to_string_lossy())?),
        false => make_file(place)?,
    }
    let mount = system::clone_mount(&source)?;
    system::set_mount(&mount, READ_ONLY, None)?;
    system::attach_mount(&mount, place)
}

/// What nobody changes, and what has no right and no device of its own.
pub(super) const READ_ONLY: u64 = system::MOUNT_ATTR_RDONLY | system::MOUNT_ATTR_NOSUID | system::MOUNT_ATTR_NODEV;

fn in_old(place: &Path) -> PathBuf {
    Path::new(OLD).join(place.strip_prefix("/").unwrap_or(place))
}

/// Home, temporary files and shared memory, gone with the program, and the names of its user.
fn private_folders(plan: &Plan, identity: Identity) -> Result<()> {
    let Identity { uid, gid, privileged } = identity;
    let owner = if privileged { format!(",uid={uid},gid={gid}") } else { String::new() };
    let options = format!("size={},mode=700{owner}", plan.limits.temporary);
    let flags = system::MS_NOSUID | system::MS_NODEV;
    for place in ["/tmp", HOME, "/dev/shm"] {
        system::mount(Path::new("private"), &made(place)?, "tmpfs", flags, &options)?;
    }
    text("/etc/passwd", &format!("root:x:0:0::/:/bin/false\nagent:x:{uid}:{gid}::{HOME}:/bin/sh\n"))?;
    text("/etc/group", &format!("root:x:0:\nagent:x:{gid}:\n"))
}

fn text(file: &str, content: &str) -> Result<()> {
    let file = Path::new(file);
    make_parents(file)?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::CLOEXEC;
    let mut open = std::fs::File::from(open(file, flags, Mode::from_raw_mode(0o644))?);
    open.write_all(content.as_bytes())
}

fn devices() -> Result<()> {
    made("/dev")?;
    for device in DEVICES {
        let place = Path::new("/dev").join(device);
        make_file(&place)?;
        let mount = system::clone_mount(&in_old(&place))?;
        system::set_mount(&mount, system::MOUNT_ATTR_NOSUID | system::MOUNT_ATTR_NOEXEC, None)?;
        system::attach_mount(&mount, &place)?;
    }
    for (to, link) in DEVICE_LINKS {
        symlink(*to, *link)?;
    }
    Ok(())
}

/// Shows a granted directory under its virtual name, as if it belonged to the program's user.
fn mount_grant(plan: &Plan, grant: &Mount, identity: Identity) -> std::result::Result<(), Failed> {
    let wrong = |error: std::io::Error| Failed::layer(&format!("view of `{}`", grant.name), error);
    let source = in_old(&grant.source);
    let is_file = stat(&source).is_ok_and(|status| !rustix::fs::FileType::from_raw_mode(status.st_mode).is_dir());
    let target = match plan.talks {
        // It is there already as a part of another one, perhaps by way of a link.
        true if is_seen(&source, Path::new(&grant.name)) && !grant.writable => return Ok(()),
        true if is_file => {
            let place = PathBuf::from(&grant.name);
            if stat(&place).is_err() {
                make_file(&place).map_err(wrong)?;
            }
            place
        }
        _ => made(&grant.name).map_err(wrong)?,
    };
    let mount = system::clone_mount(&source).map_err(wrong)?;
    let access = if grant.writable { 0 } else { system::MOUNT_ATTR_RDONLY };
    let attributes = access | system::MOUNT_ATTR_NOSUID | system::MOUNT_ATTR_NODEV;
    system::set_mount(&mount, attributes, None).map_err(wrong)?;
    if identity.privileged {
        let owner = stat(&source).map_err(|error| wrong(error.into()))?;
        let namespace = owner_namespace((owner.st_uid, owner.st_gid), identity).map_err(wrong)?;
        match system::set_mount(&mount, system::MOUNT_ATTR_IDMAP, Some(&namespace)) {
            Ok(()) => {}
            // What everybody may read is what a server needs to start.
            Err(_) if plan.talks && !grant.writable => {}
            Err(error) => {
                let why =
                    format!("its file system cannot show files as another user's ({error}); run as an ordinary user");
                return Err(Failed::layer(&format!("view of `{}`", grant.name), why));
            }
        }
    }
    system::attach_mount(&mount, &target).map_err(wrong)
}

/// Whether a place of the machine is in the view already.
fn is_seen(source: &Path, place: &Path) -> bool {
    match (stat(source), stat(place)) {
        (Ok(source), Ok(place)) => (source.st_dev, source.st_ino) == (place.st_dev, place.st_ino),
        _ => false,
    }
}

/// A user namespace that says: what belongs to the owner on disk belongs to the program's user in the mount.
fn owner_namespace((uid, gid): (u32, u32), identity: Identity) -> Result<OwnedFd> {
    let (go, wait) = (std::io::pipe()?, std::io::pipe()?);
    let Some(id) = system::fork()? else {
        drop(go.1);
        let ready = system::unshare(system::CLONE_NEWUSER).is_ok();
        let _ = (&wait.1).write_all(&[u8::from(ready)]);
        // Lives until the other end is closed, which is when the namespace is held by its file.
        let _ = std::io::Read::read(&mut &go.0, &mut [0]);
        system::exit(0);
    };
    drop(wait.1);
    let mut ready = [0];
    std::io::Read::read_exact(&mut &wait.0, &mut ready)?;
    let made = || {
        let process = Path::new(OLD).join("proc").join(child_number(id)?);
        super::write(&process.join("uid_map"), &format!("{uid} {} 1", identity.uid))?;
        super::write(&process.join("gid_map"), &format!("{gid} {} 1", identity.gid))?;
        let file = open(process.join("ns/user"), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(file)
    };
    let namespace = if ready == [1] { made() } else { Err(std::io::Error::other("no user namespace can be made")) };
    drop(go.1);
    rustix::process::waitpid(rustix::process::Pid::from_raw(id), rustix::process::WaitOptions::empty())?;
    namespace
}

/// The number under which the old /proc knows a child: not the one that this process knows, which is of its own
/// namespace.
fn child_number(id: i32) -> Result<String> {
    let process = rustix::process::Pid::from_raw(id).ok_or(std::io::ErrorKind::NotFound)?;
    let file = rustix::process::pidfd_open(process, rustix::process::PidfdFlags::empty())?;
    let about = Path::new(OLD).join("proc/thread-self/fdinfo").join(file.as_raw_fd().to_string());
    let text = read(&about)?;
    let numbers = text.lines().find_map(|line| line.strip_prefix("Pid:")).map(str::trim);
    numbers.map(str::to_owned).ok_or_else(|| std::io::Error::other("the kernel does not say which process it is"))
}

#[expect(clippy::disallowed_methods, reason = "the launcher reads what the kernel says of its own child")]
fn read(file: &Path) -> Result<String> {
    std::fs::read_to_string(file)
}

/// Covers a place with nothing. What is not there needs no cover.
pub(super) fn hide(place: &Path) -> Result<()> {
    let Ok(status) = rustix::fs::lstat(place) else { return Ok(()) };
    if rustix::fs::FileType::from_raw_mode(status.st_mode).is_dir() {
        let flags = system::MS_NOSUID | system::MS_NODEV | system::MS_NOEXEC | system::MS_RDONLY;
        return system::mount(Path::new("hidden"), place, "tmpfs", flags, "size=4k,mode=000");
    }
    let cover = Path::new("/.hidden");
    if rustix::fs::lstat(cover).is_err() {
        open(cover, OFlags::WRONLY | OFlags::CREATE | OFlags::CLOEXEC, Mode::empty())?;
    }
    system::mount(cover, place, "none", system::MS_BIND, "")?;
    let flags = system::MS_REMOUNT | system::MS_BIND | system::MS_RDONLY | system::MS_NOSUID | system::MS_NODEV;
    system::mount(Path::new("none"), place, "none", flags, "")
}

/// A folder of the new root, with those above it.
fn made(folder: &str) -> Result<PathBuf> {
    let path = PathBuf::from(folder);
    make_parents(&path)?;
    match mkdir(&path, Mode::from_raw_mode(0o755)) {
        Ok(()) | Err(rustix::io::Errno::EXIST) => Ok(path),
        Err(error) => Err(error.into()),
    }
}

fn make_parents(path: &Path) -> Result<()> {
    let parents: Vec<&Path> = path.ancestors().skip(1).collect();
    for parent in parents.into_iter().rev() {
        match mkdir(parent, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn make_file(path: &Path) -> Result<()> {
    make_parents(path)?;
    open(path, OFlags::WRONLY | OFlags::CREATE | OFlags::CLOEXEC, Mode::from_raw_mode(0o444))?;
    Ok(())
}

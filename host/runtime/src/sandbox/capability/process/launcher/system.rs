//! The kernel's calls that no safe library of ours offers, each as one function that cannot be used wrongly by the
//! launcher: a process with one thread and nothing to lose. Must not decide anything.
#![expect(unsafe_code, reason = "these calls exist only in C; each is safe in a process with one thread")]

use std::ffi::{CStr, CString};
use std::io::{Error, Result};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;

pub(super) use libc::{
    CLONE_NEWCGROUP, CLONE_NEWIPC, CLONE_NEWNET, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWUSER, CLONE_NEWUTS, MNT_DETACH,
    MOUNT_ATTR_IDMAP, MOUNT_ATTR_NODEV, MOUNT_ATTR_NOEXEC, MOUNT_ATTR_NOSUID, MOUNT_ATTR_RDONLY, MS_BIND, MS_NODEV,
    MS_NOEXEC, MS_NOSUID, MS_PRIVATE, MS_RDONLY, MS_REC, MS_REMOUNT,
};

fn check(result: libc::c_long) -> Result<libc::c_long> {
    if result < 0 { Err(Error::last_os_error()) } else { Ok(result) }
}

fn c(text: &[u8]) -> Result<CString> {
    CString::new(text).map_err(Error::other)
}

fn c_path(path: &Path) -> Result<CString> {
    c(path.as_os_str().as_encoded_bytes())
}

/// A copy of this process, which has one thread: `None` in the copy, its id in the original.
pub(super) fn fork() -> Result<Option<i32>> {
    // SAFETY: the launcher has one thread, so that no lock can be held by another one.
    let id = check(unsafe { libc::fork() }.into())?;
    Ok((id != 0).then_some(id as i32))
}

/// Leaves this process without running anything more of it.
pub(super) fn exit(code: i32) -> ! {
    // SAFETY: ends the process.
    unsafe { libc::_exit(code) }
}

/// Leaves some of the namespaces that this process shares with others.
pub(super) fn unshare(flags: i32) -> Result<()> {
    // SAFETY: takes a number.
    check(unsafe { libc::unshare(flags) }.into()).map(drop)
}

/// Mounts; see mount(2).
pub(super) fn mount(source: &Path, target: &Path, kind: &str, flags: libc::c_ulong, options: &str) -> Result<()> {
    let (source, target, kind, options) =
        (c_path(source)?, c_path(target)?, c(kind.as_bytes())?, c(options.as_bytes())?);
    // SAFETY: all four are strings that end, and live until the call is over.
    let result =
        unsafe { libc::mount(source.as_ptr(), target.as_ptr(), kind.as_ptr(), flags, options.as_ptr().cast()) };
    check(result.into()).map(drop)
}

/// Takes away what is mounted on a place.
pub(super) fn unmount(target: &Path) -> Result<()> {
    let target = c_path(target)?;
    // SAFETY: a string that ends.
    check(unsafe { libc::umount2(target.as_ptr(), MNT_DETACH) }.into()).map(drop)
}

/// Makes one mount the root and puts the old root beneath it.
pub(super) fn pivot_root(new: &Path, old: &Path) -> Result<()> {
    let (new, old) = (c_path(new)?, c_path(old)?);
    // SAFETY: two strings that end.
    check(unsafe { libc::syscall(libc::SYS_pivot_root, new.as_ptr(), old.as_ptr()) }).map(drop)
}

/// A mount of a place and of all beneath it that is nowhere yet.
pub(super) fn clone_mount(source: &Path) -> Result<OwnedFd> {
    let source = c_path(source)?;
    let flags = libc::OPEN_TREE_CLONE as i64 | libc::OPEN_TREE_CLOEXEC as i64 | i64::from(libc::AT_RECURSIVE);
    // SAFETY: a string that ends, and numbers; the result is a new descriptor that nobody else owns.
    unsafe {
        let fd = check(libc::syscall(libc::SYS_open_tree, libc::AT_FDCWD, source.as_ptr(), flags))?;
        Ok(OwnedFd::from_raw_fd(fd as i32))
    }
}

/// Changes what a mount and all beneath it allow; with a user namespace, also whom files seem to belong to.
pub(super) fn set_mount(mount: &OwnedFd, attributes: u64, namespace: Option<&OwnedFd>) -> Result<()> {
    let attributes = libc::mount_attr {
        attr_set: attributes,
        attr_clr: 0,
        propagation: 0,
        userns_fd: namespace.map_or(0, |fd| fd.as_raw_fd() as u64),
    };
    let flags = libc::AT_EMPTY_PATH | libc::AT_RECURSIVE;
    // SAFETY: the structure is of the size that is given, and lives until the call is over.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            flags,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    check(result).map(drop)
}

/// Puts a mount that is nowhere yet onto a place.
pub(super) fn attach_mount(mount: &OwnedFd, target: &Path) -> Result<()> {
    let target = c_path(target)?;
    // SAFETY: two strings that end, and numbers.
    let result = unsafe {
        libc::syscall(
            libc::SYS_move_mount,
            mount.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_FDCWD,
            target.as_ptr(),
            libc::MOVE_MOUNT_F_EMPTY_PATH,
        )
    };
    check(result).map(drop)
}

/// Becomes another user for good, with its group and no other one.
pub(super) fn become_user(uid: u32, gid: u32) -> Result<()> {
    // SAFETY: takes numbers; an empty list has no address.
    unsafe {
        check(libc::setgroups(0, std::ptr::null()).into())?;
        check(libc::setresgid(gid, gid, gid).into())?;
        check(libc::setresuid(uid, uid, uid).into()).map(drop)
    }
}

/// One setting of this process; see prctl(2).
pub(super) fn set(option: i32, value: u64) -> Result<()> {
    // SAFETY: the options that the launcher uses take numbers.
    check(unsafe { libc::prctl(option, value, 0_u64, 0_u64, 0_u64) }.into()).map(drop)
}

/// Gives up every capability, and every way to get one back.
pub(super) fn drop_capabilities() -> Result<()> {
    for capability in 0..64 {
        // Past the last one that the kernel knows there is nothing to drop.
        if set(libc::PR_CAPBSET_DROP, capability).is_err() {
            break;
        }
    }
    /// Version 3 of the interface: two words for each set.
    const VERSION: u32 = 0x2008_0522;
    let header = [VERSION, 0];
    let none = [0_u32; 6];
    // SAFETY: header and data have the layout and length that version 3 asks for.
    check(unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), none.as_ptr()) }).map(drop)
}

/// Closes every descriptor from one on.
pub(super) fn close_from(first: i32) -> Result<()> {
    // SAFETY: nothing of the launcher owns a descriptor at that time.
    check(unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, 0) }).map(drop)
}

/// The name of this machine, within the namespace.
pub(super) fn set_host_name(name: &str) -> Result<()> {
    // SAFETY: the address and length of one string.
    check(unsafe { libc::sethostname(name.as_ptr().cast(), name.len()) }.into()).map(drop)
}

/// Replaces this process by a program. Returns only when that fails.
pub(super) fn execute(program: &CStr, args: &[CString], environment: &[CString]) -> Error {
    let pointers = |texts: &[CString]| -> Vec<*const libc::c_char> {
        texts.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect()
    };
    let (args, environment) = (pointers(args), pointers(environment));
    // SAFETY: both lists end with a null and their strings live until the call is over.
    unsafe { libc::execve(program.as_ptr(), args.as_ptr(), environment.as_ptr()) };
    Error::last_os_error()
}

/// Sets how a signal is taken back to what it is for a new program. Rust's start-up ignores a broken pipe.
pub(super) fn reset_signals() {
    // SAFETY: takes numbers.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
    }
}

/// A descriptor of this process under a number of its own. Whoever held that number loses it.
pub(super) fn move_descriptor(from: &impl AsRawFd, to: i32) -> Result<()> {
    // SAFETY: takes numbers; the standard streams are the only targets.
    check(unsafe { libc::dup2(from.as_raw_fd(), to) }.into()).map(drop)
}

/// Lets a filter decide over every later call of this process and its children.
pub(super) fn set_filter(program: &[seccompiler::sock_filter]) -> Result<()> {
    seccompiler::apply_filter(program).map_err(Error::other)
}

/// Turns on the network by which a process speaks with itself, in a namespace that has nothing else yet.
pub(super) fn raise_loopback() -> Result<()> {
    // SAFETY: the structure is plain numbers, named, zeroed and of the layout that both requests take; it lives until
    // they are over. The socket has an owner that closes it.
    unsafe {
        let socket = check(libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0).into())?;
        let socket = OwnedFd::from_raw_fd(socket as i32);
        let mut request: libc::ifreq = std::mem::zeroed();
        for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
            *to = *from as libc::c_char;
        }
        check(libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFFLAGS, &raw mut request).into())?;
        request.ifr_ifru.ifru_flags |= libc::IFF_UP as libc::c_short;
        check(libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request).into()).map(drop)
    }
}

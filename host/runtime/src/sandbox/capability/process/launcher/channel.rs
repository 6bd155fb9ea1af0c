//! How does a program that stays speak with the runtime? Over one socket, which is also how the runtime gets what only
//! the inside of the sandbox can make: sockets of its own network, and its folder for files that it hands over.
#![expect(clippy::disallowed_methods, reason = "sockets of the sandbox's own network are made here")]

use super::super::plan::Channel;
use super::{root, system};
use rustix::fs::{Mode, OFlags, mkdir, open};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use std::io::{IoSlice, Result};
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};

/// The first number that no descriptor of a program's own has.
pub(super) const ABOVE: i32 = 10;
/// Where the program finds the channel, for reading and for writing.
const NUMBERS: [i32; 2] = [3, 4];
/// The folder from which the runtime takes files, beneath the home.
const HANDED_OVER: &str = "downloads";

/// Sends the runtime the listening sockets and the folder, before the program runs.
pub(super) fn hand_over(wanted: &Channel) -> Result<()> {
    let mut handed = Vec::new();
    for _ in 0..wanted.ways_out {
        handed.push(OwnedFd::from(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?));
    }
    let folder = format!("{}/{HANDED_OVER}", root::HOME);
    mkdir(&folder, Mode::RWXU)?;
    handed.push(open(&folder, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?);
    send(&handed)
}

/// Sends the runtime descriptors over the socket that is the launcher's output.
pub(super) fn send(handed: &[OwnedFd]) -> Result<()> {
    let all: Vec<_> = handed.iter().map(AsFd::as_fd).collect();
    let mut space = vec![MaybeUninit::uninit(); SendAncillaryMessage::ScmRights(&all).size()];
    let mut message = SendAncillaryBuffer::new(&mut space);
    if !message.push(SendAncillaryMessage::ScmRights(&all)) {
        return Err(std::io::Error::other("too many descriptors"));
    }
    // One byte goes with them, since a message without any is none.
    sendmsg(std::io::stdout(), &[IoSlice::new(&[0])], &mut message, SendFlags::empty())?;
    Ok(())
}

/// Puts the channel where the program looks for it, and nothing where it stood.
pub(super) fn enter() -> Result<()> {
    rustix::process::chdir(root::HOME)?;
    for number in NUMBERS {
        system::move_descriptor(&std::io::stdout(), number)?;
    }
    let nothing = open("/dev/null", OFlags::RDWR, Mode::empty())?;
    let nothing = rustix::io::fcntl_dupfd_cloexec(&nothing, ABOVE)?;
    system::move_descriptor(&nothing, 1)
}

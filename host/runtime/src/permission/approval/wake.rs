//! How does a waiting process hear of a decision that another one wrote? By a datagram to a socket in the state folder;
//! a process that misses it looks again by itself before long. The datagram says nothing: what was decided is read from
//! the table.
#![expect(clippy::disallowed_methods, reason = "the sockets of waiting calls lie in the state folder")]

use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::net::UnixDatagram;

/// How often a waiting call looks by itself.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Longest path of a socket that the system takes.
const LONGEST: usize = 100;

/// A call that waits for a decision about one request. Lifetime: the wait; its socket is gone after it.
pub(super) struct Bell {
    socket: Option<(UnixDatagram, PathBuf)>,
}

fn folder(state_dir: &Path) -> PathBuf {
    state_dir.join("bells")
}

impl Bell {
    /// Begins to listen. Where no socket can be made, looking again has to do.
    pub(super) fn listen(state_dir: &Path, id: &str) -> Bell {
        let folder = folder(state_dir);
        let path = folder.join(format!("{id}.{}", ulid::Ulid::generate().random() as u32));
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder);
        let fits = made.is_ok() && path.as_os_str().len() <= LONGEST;
        let socket = fits.then(|| UnixDatagram::bind(&path).ok()).flatten();
        Bell { socket: socket.map(|socket| (socket, path)) }
    }

    /// Waits until something may have been decided. Can be dropped at any time.
    pub(super) async fn rung(&self) {
        let look = tokio::time::sleep(LOOK_EVERY);
        let Some((socket, _)) = &self.socket else { return look.await };
        let mut byte = [0; 1];
        tokio::select! {
            _ = socket.recv(&mut byte) => {}
            () = look => {}
        }
    }
}

impl Drop for Bell {
    fn drop(&mut self) {
        if let Some((_, path)) = &self.socket {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Wakes every call that waits for a decision about a request. Sockets of processes that are gone are taken away.
pub(super) fn ring(state_dir: &Path, id: &str) {
    let Ok(sender) = std::os::unix::net::UnixDatagram::unbound() else { return };
    let _ = sender.set_nonblocking(true);
    for entry in std::fs::read_dir(folder(state_dir)).into_iter().flatten().flatten() {
        let is_meant = entry.file_name().to_string_lossy().split('.').next() == Some(id);
        if is_meant
            && let Err(error) = sender.send_to(b"!", entry.path())
            && error.kind() == std::io::ErrorKind::ConnectionRefused
        {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

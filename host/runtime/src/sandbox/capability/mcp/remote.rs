//! Which connection does a request to a server take? One that is free, a new one if there may be more, or the one with
//! the least to do. A server that was lost is reached again after a pause that grows. Must not know what is asked.

use super::connection::Connection;
use crate::sandbox::bindings::hermes::tool::mcp::{Failure, Reason};
use crate::servers::Server;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::sync::{Mutex, OwnedMutexGuard};

/// The first pause before a server is reached again, and the longest.
const PAUSE: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(4));
/// A pause that a call waits out; for a longer one it is told when to come again.
const WAITED: Duration = Duration::from_secs(1);
/// A connection that held this long was a good one.
const GOOD: Duration = Duration::from_secs(5);
/// Connections to one server, whatever anybody says.
const MOST: u32 = 64;

/// One configured server. Lifetime: the runtime.
pub(super) struct Remote {
    pub(super) name: String,
    pub(super) server: Server,
    most: AtomicU32,
    pool: Arc<Mutex<Pool>>,
}

#[derive(Default)]
struct Pool {
    open: Vec<Arc<Connection>>,
    /// Attempts in a row that came to nothing.
    failures: u32,
    not_before: Option<Instant>,
    why: String,
}

impl Remote {
    pub(super) fn new(name: String, server: Server) -> Remote {
        let most = server.connections.unwrap_or(1).clamp(1, MOST);
        Remote { name, server, most: AtomicU32::new(most), pool: Arc::default() }
    }

    /// A manifest that is bound to the server wants so many connections. The server's own setting counts more.
    pub(super) fn widen(&self, most: u32) {
        if self.server.connections.is_none() {
            self.most.fetch_max(most.clamp(1, MOST), Ordering::Relaxed);
        }
    }

    /// A connection to take. Dropping the future leaves one that is being opened to the next who asks.
    pub(super) async fn connection(&self, until: Instant, runtime: &Handle) -> Result<Arc<Connection>, Failure> {
        let late = |_| self.not_connected("it is not reached in time".into());
        let pool = self.pool.clone().lock_owned();
        let mut pool = tokio::time::timeout_at(until.into(), pool).await.map_err(late)?;
        pool.forget_closed();
        let idlest = pool.open.iter().min_by_key(|connection| connection.running()).cloned();
        let is_full = pool.open.len() >= self.most.load(Ordering::Relaxed) as usize;
        if let Some(connection) = &idlest
            && (connection.running() == 0 || is_full)
        {
            return Ok(connection.clone());
        }
        let pause = pool.not_before.map_or(Duration::ZERO, |then| then.saturating_duration_since(Instant::now()));
        match (pause > WAITED.min(until.saturating_duration_since(Instant::now())), idlest) {
            (true, Some(connection)) => return Ok(connection),
            (true, None) => {
                let why = format!("{}; it is tried again in {} ms", pool.why, pause.as_millis());
                return Err(self.not_connected(why));
            }
            (false, _) => {}
        }
        let opening = runtime.spawn(open(self.name.clone(), self.server.clone(), pause, pool));
        match tokio::time::timeout_at(until.into(), opening).await.map_err(late)? {
            Ok(Ok(connection)) => Ok(connection),
            Ok(Err(why)) => Err(self.not_connected(why)),
            Err(_) => Err(self.not_connected("the runtime is ending".into())),
        }
    }

    /// Ends all connections. What is still used elsewhere ends when it is let go.
    pub(super) async fn close(self) {
        let open = std::mem::take(&mut self.pool.lock().await.open);
        let closing = open.into_iter().filter_map(Arc::into_inner).map(Connection::close);
        tokio::task::JoinSet::from_iter(closing).join_all().await;
    }

    fn not_connected(&self, why: String) -> Failure {
        let message = format!("the server `{}`: {why}", self.name);
        Failure { reason: Reason::NotConnected, message, code: None, request_sent: false }
    }
}

async fn open(
    name: String,
    server: Server,
    pause: Duration,
    mut pool: OwnedMutexGuard<Pool>,
) -> Result<Arc<Connection>, String> {
    tokio::time::sleep(pause).await;
    match Connection::open(&name, &server).await {
        Ok(connection) => {
            let connection = Arc::new(connection);
            pool.open.push(connection.clone());
            Ok(connection)
        }
        Err(why) => {
            pool.failed(why.clone());
            Err(why)
        }
    }
}

impl Pool {
    fn forget_closed(&mut self) {
        let closed: Vec<Arc<Connection>> = self.open.extract_if(.., |connection| connection.is_closed()).collect();
        for connection in closed {
            if connection.age() >= GOOD {
                self.failures = 0;
            }
            self.failed("it ended the last connection".into());
        }
    }

    fn failed(&mut self, why: String) {
        let (first, longest) = PAUSE;
        let pause = first.saturating_mul(1 << self.failures.min(10)).min(longest);
        self.failures += 1;
        self.not_before = Some(Instant::now() + pause);
        self.why = why;
    }
}

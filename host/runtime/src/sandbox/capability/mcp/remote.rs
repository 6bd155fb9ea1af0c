//! Which connection does a request to a server take? One that is free, a new one if there may be more, or the one with
//! the least to do. A server that was lost is reached again after a pause that grows. Must not know what is asked.

use super::connection::{Connection, Way};
use super::listing;
use super::pin::{self, Catalogue, Changes};
use crate::document::excerpt;
use crate::sandbox::bindings::hermes::tool::mcp::{Failure, Reason};
use crate::servers::Server;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::sync::{Mutex, OwnedMutexGuard};

/// The first pause before a server is reached again, and the longest.
const PAUSE: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(4));
/// A connection that held this long was a good one.
const GOOD: Duration = Duration::from_secs(5);
/// How long a server may take to say what it offers.
const LOOKING: Duration = Duration::from_secs(20);
/// Connections to one server, whatever anybody says.
const MOST: u32 = 64;

/// One configured server. Lifetime: the runtime.
pub(super) struct Remote {
    pub(super) name: String,
    pub(super) server: Server,
    most: AtomicU32,
    folder: PathBuf,
    way: Way,
    /// What it offered at first, and what of it is another one now.
    known: Arc<RwLock<Known>>,
    pool: Arc<Mutex<Pool>>,
}

#[derive(Default)]
struct Known {
    first: Option<Arc<Catalogue>>,
    changes: Changes,
}

#[derive(Default)]
struct Pool {
    open: Vec<Arc<Connection>>,
    /// Attempts in a row that came to nothing.
    failures: u32,
    not_before: Option<Instant>,
    /// Why the last attempt to reach the server came to nothing; without one a call waits the pause out.
    why: Option<String>,
}

impl Remote {
    pub(super) fn new(name: String, server: Server, (folder, way): (&Path, Way)) -> Remote {
        let most = AtomicU32::new(server.connections.unwrap_or(1).clamp(1, MOST));
        let first = pin::read(folder, &name, &server).map(Arc::new);
        let known = Arc::new(RwLock::new(Known { first, changes: Changes::new() }));
        Remote { name, server, most, folder: folder.to_owned(), way, known, pool: Arc::default() }
    }

    /// What the server offers: as it is kept, or as it says now.
    pub(super) async fn catalogue(&self, until: Instant, runtime: &Handle) -> Result<Arc<Catalogue>, Failure> {
        if let Some(first) = self.known().first.clone() {
            return Ok(first);
        }
        // Whoever opens a connection looks.
        self.connection(until, runtime).await?;
        let first = self.known().first.clone();
        first.ok_or_else(|| self.not_connected("it does not say what it offers".into()))
    }

    /// Refuses a tool that is not what it was when the server was first looked at.
    pub(super) async fn refuse_changed(
        &self,
        connection: &Connection,
        tool: &str,
        until: Instant,
    ) -> Result<(), Failure> {
        if connection.take_changed() {
            let now = look(connection, &self.server, until).await?;
            self.known.write().unwrap_or_else(PoisonError::into_inner).hold_against(now);
        }
        let how = self.known().changes.get(tool).copied();
        if how.is_none() {
            return Ok(());
        }
        // A person may have accepted it in another process.
        let kept = pin::read(&self.folder, &self.name, &self.server);
        if let Some(kept) = kept.filter(|kept| self.known().first.as_deref() != Some(kept)) {
            let now = look(connection, &self.server, until).await?;
            let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
            known.first = Some(Arc::new(kept));
            known.hold_against(now);
        }
        match self.known().changes.get(tool) {
            None => Ok(()),
            Some(how) => Err(Failure {
                reason: Reason::Changed,
                message: format!("the server `{}`: its tool `{}` {how}", self.name, excerpt(tool, 80)),
                code: None,
                request_sent: false,
            }),
        }
    }

    /// What of the server is not what it was, with all that it says now; nothing if all is as it was.
    pub(super) async fn changed(
        &self,
        until: Instant,
        runtime: &Handle,
    ) -> Result<Option<(Changes, Catalogue)>, Failure> {
        let connection = self.connection(until, runtime).await?;
        let now = look(&connection, &self.server, until).await?;
        let first = self.known().first.clone();
        let changes = first.map(|first| first.changes(&now)).unwrap_or_default();
        Ok((!changes.is_empty()).then_some((changes, now)))
    }

    /// From now on the server is what it said then.
    pub(super) fn accept(&self, then: Catalogue) {
        pin::write(&self.folder, &self.name, &then);
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        *known = Known { first: Some(Arc::new(then)), changes: Changes::new() };
    }

    fn known(&self) -> RwLockReadGuard<'_, Known> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
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
        let left = until.saturating_duration_since(Instant::now());
        match (&pool.why, idlest) {
            (_, Some(connection)) if !pause.is_zero() => return Ok(connection),
            (Some(why), None) if !pause.is_zero() => {
                return Err(self.not_connected(format!("{why}; it is tried again in {} ms", pause.as_millis())));
            }
            (None, None) if pause >= left => {
                let why = "it ended its last connections at once; it is started again after a pause";
                return Err(self.not_connected(why.into()));
            }
            _ => {}
        }
        let to = Opening {
            name: self.name.clone(),
            server: self.server.clone(),
            folder: self.folder.clone(),
            way: self.way.clone(),
            known: self.known.clone(),
        };
        let opening = runtime.spawn(to.open(pause, pool));
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

/// All that is needed to open a connection, whatever becomes of who wants it.
struct Opening {
    name: String,
    server: Server,
    folder: PathBuf,
    way: Way,
    known: Arc<RwLock<Known>>,
}

impl Opening {
    async fn open(self, pause: Duration, mut pool: OwnedMutexGuard<Pool>) -> Result<Arc<Connection>, String> {
        tokio::time::sleep(pause).await;
        let opened = async {
            let connection = Connection::open(&self.name, &self.server, &self.way).await?;
            self.look(&connection).await?;
            Ok(Arc::new(connection))
        };
        match opened.await {
            Ok(connection) => {
                pool.open.push(connection.clone());
                pool.why = None;
                Ok(connection)
            }
            Err(why) => {
                pool.failed(Some(String::clone(&why)));
                Err(why)
            }
        }
    }

    /// Looks at what the server offers, and keeps it if that is the first time.
    async fn look(&self, connection: &Connection) -> Result<(), String> {
        let now = look(connection, &self.server, Instant::now() + LOOKING).await.map_err(|failure| failure.message)?;
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        match &known.first {
            Some(_) => known.hold_against(now),
            None => {
                pin::write(&self.folder, &self.name, &now);
                known.first = Some(Arc::new(now));
            }
        }
        Ok(())
    }
}

/// Everything that a server offers now.
async fn look(connection: &Connection, server: &Server, until: Instant) -> Result<Catalogue, Failure> {
    let tools = match connection.offers("tools") {
        true => listing::pages(connection, "tools/list", "tools", until).await?,
        false => Vec::new(),
    };
    Ok(Catalogue {
        resources: connection.offers("resources"),
        prompts: connection.offers("prompts"),
        completions: connection.offers("completions"),
        ..Catalogue::new(server, tools)
    })
}

impl Known {
    fn hold_against(&mut self, now: Catalogue) {
        if let Some(first) = &self.first {
            self.changes = first.changes(&now);
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
            self.failed(None);
        }
    }

    fn failed(&mut self, why: Option<String>) {
        let (first, longest) = PAUSE;
        let pause = first.saturating_mul(1 << self.failures.min(10)).min(longest);
        self.failures += 1;
        self.not_before = Some(Instant::now() + pause);
        self.why = why;
    }
}

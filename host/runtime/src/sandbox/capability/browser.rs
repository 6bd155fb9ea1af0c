//! Tabs of a real browser. A component says where to go and what to press; which browser that is, what it sees of the
//! machine and where its requests may go is decided here.

mod act;
mod download;
mod frames;
mod go;
mod launch;
mod outline;
mod page;
mod picture;
mod proxy;
mod running;
mod script;
mod tab;
mod wire;
mod world;

use super::files::Roots;
use super::own::Own;
use super::taped::Taped;
use crate::call::Caller;
use crate::config::{BrowserSettings, Config};
use crate::error::{Error, Kind, Step};
use crate::sandbox::bindings::hermes::tool::browser as wit;
pub(crate) use crate::sandbox::bindings::hermes::tool::browser::{
    Download, DownloadState, Event, Failure, Reason, Stage, TabState,
};
use crate::sandbox::{Layer, State};
use chromiumoxide::cdp::browser_protocol::browser::GetVersionParams;
use chromiumoxide::cdp::browser_protocol::target::CloseTargetParams;
use running::{Running, lock};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use wire::Speaker;

/// Most sessions that can have tabs at the same time; each has a port of its own.
pub(super) const MOST_SESSIONS: u16 = 200;
/// How long the start of a browser may take for somebody who only asks whether it works.
const TRIAL: Duration = Duration::from_secs(20);

fn failure(reason: Reason, message: impl Into<String>) -> Failure {
    Failure { reason, message: message.into() }
}

/// The browser of this runtime, if it runs. Lifetime: the runtime.
pub(crate) struct Browsers {
    settings: BrowserSettings,
    helper: Option<PathBuf>,
    roots: Arc<Roots>,
    rules: Arc<proxy::Rules>,
    running: tokio::sync::Mutex<Option<Arc<Running>>>,
}

/// What one attempt has of the browser: its session's part.
pub(crate) struct Tabs {
    browsers: Arc<Browsers>,
    /// Whose tabs they are.
    session: Session,
    deadline: Instant,
    late: Arc<AtomicBool>,
    used: Option<Used>,
}

/// A session, which is one only together with its caller.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    /// Who calls.
    pub(crate) caller: Arc<Caller>,
    /// In which of its sessions.
    pub(crate) name: Arc<str>,
}

/// What an attempt has used of a running browser. Dropped, it undoes what nobody said was a success.
struct Used {
    running: Arc<Running>,
    key: String,
    /// Tabs that were opened by this attempt.
    opened: Vec<u32>,
    kept: bool,
}

impl Browsers {
    pub(crate) fn of(config: &Config, helper: Option<PathBuf>, roots: Arc<Roots>, own: Arc<Own>) -> Browsers {
        let rules = proxy::Rules {
            grants: config.browser.grants(),
            names: config.browser.names.clone(),
            is_own: Box::new(move |address| own.has(address)),
        };
        let settings = config.browser.clone();
        Browsers { settings, helper, roots, rules: Arc::new(rules), running: tokio::sync::Mutex::default() }
    }

    /// The browser, started if it does not run.
    async fn running(self: &Arc<Self>, deadline: Instant) -> Result<Arc<Running>, Failure> {
        let waiting = tokio::time::timeout_at(deadline.into(), self.running.lock()).await;
        let mut running = waiting.map_err(|_| failure(Reason::TimedOut, "the browser did not start in time"))?;
        if let Some(known) = running.as_ref().filter(|known| known.is_alive()) {
            return Ok(known.clone());
        }
        if let Some(broken) = running.take() {
            broken.end().await;
        }
        let started = Running::start(self, deadline).await?;
        *running = Some(started.clone());
        Ok(started)
    }

    /// Whether it can be started, and in what it runs.
    pub(crate) async fn try_out(self: &Arc<Self>) -> Result<Vec<Layer>, String> {
        let deadline = Instant::now() + TRIAL;
        let running = self.running(deadline).await.map_err(|failure| failure.message)?;
        let asked = running.speaker().ask(None, GetVersionParams::default(), deadline).await;
        let state = asked.map_err(|failure| failure.message)?.product;
        let own = if self.settings.sandbox { "on" } else { "OFF, because browser.sandbox says so" };
        let mut layers = vec![
            Layer { name: "program".into(), state },
            Layer { name: "the browser's own sandbox".into(), state: own.into() },
        ];
        layers.extend(running.layers.iter().cloned());
        self.end_if_unused().await;
        Ok(layers)
    }

    /// Ends a session's part, and with the last one the browser.
    pub(crate) async fn end_session(&self, session: &Session) {
        let running = self.running.lock().await.clone();
        if let Some(running) = running {
            running.remove_room(&session.key());
        }
        self.end_if_unused().await;
    }

    async fn end_idle(&self, idle: Duration) {
        let running = self.running.lock().await.clone();
        let Some(running) = running else { return };
        for key in running.idle_rooms(idle) {
            running.remove_room(&key);
        }
        drop(running);
        self.end_if_unused().await;
    }

    async fn end_if_unused(&self) {
        let mut running = self.running.lock().await;
        // An attempt that holds it is about to use it.
        let unused = running.take_if(|known| known.is_empty() && Arc::strong_count(known) == 1);
        if let Some(unused) = unused {
            unused.end().await;
        }
    }
}

impl Session {
    fn key(&self) -> String {
        format!("{}\n{}", self.caller.id, self.name)
    }
}

impl Drop for Used {
    fn drop(&mut self) {
        let speaker = self.running.speaker().clone();
        let mut world = lock(&self.running.world);
        let Some(room) = world.rooms.get_mut(&self.key) else { return };
        room.in_use = room.in_use.saturating_sub(1);
        room.last_used = Instant::now();
        if self.kept {
            return;
        }
        for id in &self.opened {
            if let Some(tab) = room.forget(*id) {
                speaker.tell(None, CloseTargetParams::new(tab.target));
            }
        }
    }
}

impl Tabs {
    /// `deadline` is when the browser is not waited for any more, a little before the attempt itself ends.
    pub(crate) fn new(browsers: Arc<Browsers>, session: Session, deadline: Instant, late: Arc<AtomicBool>) -> Tabs {
        Tabs { browsers, session, deadline, late, used: None }
    }

    /// The call was a success, so what it opened stays open.
    pub(crate) fn keep(&mut self) {
        if let Some(used) = &mut self.used {
            used.kept = true;
        }
    }

    /// The session's part of the browser, made when it is first needed.
    async fn used(&mut self) -> Result<&mut Used, Failure> {
        let key = self.session.key();
        let is_there = |used: &Used| used.running.is_alive() && lock(&used.running.world).rooms.contains_key(&used.key);
        // An attempt whose browser broke off learns that; the next one gets a fresh one.
        if self.used.as_ref().is_some_and(|used| !used.running.is_alive()) {
            return Err(failure(Reason::Crashed, "the browser broke off, and its tabs are gone"));
        }
        if !self.used.as_ref().is_some_and(is_there) {
            self.used = None;
            let running = self.browsers.running(self.deadline).await?;
            let adding = tokio::time::timeout_at(self.deadline.into(), running.adding.lock()).await;
            let adding =
                adding.map_err(|_| failure(Reason::TimedOut, "the session's first tab was not there in time"))?;
            if !lock(&running.world).rooms.contains_key(&key) {
                running.add_room(&self.browsers, &key, self.deadline).await?;
            }
            drop(adding);
            if let Some(room) = lock(&running.world).rooms.get_mut(&key) {
                room.in_use += 1;
            }
            self.used = Some(Used { running, key, opened: Vec::new(), kept: false });
        }
        self.used.as_mut().ok_or_else(|| failure(Reason::Unavailable, "there is no browser"))
    }

    /// Ends the session's part.
    async fn end(&mut self) {
        self.used = None;
        self.browsers.end_session(&self.session).await;
    }
}

impl State {
    /// What the capability answers; a browser that is not there at all ends the call, since no component can help that.
    fn browser_answer<T>(&mut self, answer: Result<T, Failure>) -> wasmtime::Result<Result<T, Failure>> {
        if let Err(failure) = &answer {
            match failure.reason {
                Reason::NotInstalled => {
                    let hint = "the operator installs it, on Debian with `apt-get install chromium`, or names one in \
                                `[browser] program`; `hermes-dispatch doctor` shows whether it works";
                    let error = Error::new(Step::Sandbox, Kind::NoAdapter, failure.message.clone());
                    return Err(wasmtime::Error::new(error.reason("browser_not_installed").hint(hint)));
                }
                // The component still has to tell.
                Reason::TimedOut => self.tabs.late.store(true, Ordering::Relaxed),
                _ => {}
            }
        }
        Ok(answer)
    }
}

/// One function of the interface: counts the call, asks, answers.
macro_rules! answers {
    ($($name:ident($($arg:ident: $type:ty),*) -> $result:ty;)*) => {
        impl wit::Host for Taped<'_> {
            $(async fn $name(&mut self, $($arg: $type),*) -> wasmtime::Result<Result<$result, Failure>> {
                let name = concat!("browser.", stringify!($name));
                if let Some(answer) = self.0.tape.next(name, &($(&$arg,)*))? {
                    return Ok(answer);
                }
                self.0.meter.count_host_call()?;
                let answer = self.0.tabs.$name($($arg),*).await;
                let answer = self.0.browser_answer(answer)?;
                self.0.tape.keep(name, &answer)?;
                Ok(answer)
            })*
        }
    };
}

answers! {
    tabs() -> Vec<wit::Tab>;
    open() -> u32;
    select(tab: u32) -> ();
    close(tab: u32) -> ();
    close_session() -> ();
    navigate(tab: u32, url: String) -> wit::Started;
    travel(tab: u32, by: i32) -> bool;
    state(tab: u32) -> TabState;
    title(tab: u32) -> String;
    wait(tab: u32, milliseconds: u32) -> bool;
    stop(tab: u32) -> ();
    frames(tab: u32) -> Vec<wit::Frame>;
    accessibility(tab: u32, document: u32) -> Vec<wit::Node>;
    evaluate(tab: u32, document: u32, element: Option<u64>, realm: wit::Realm, function: String, arguments: String) -> String;
    locate(tab: u32, document: u32, element: u64) -> wit::Point;
    click(tab: u32, at: wit::Point, times: u32) -> ();
    point_at(tab: u32, at: wit::Point) -> ();
    press(tab: u32, key: wit::Key) -> ();
    insert(tab: u32, text: String) -> ();
    screenshot(tab: u32, picture: wit::Picture) -> wit::Image;
    events(tab: u32) -> Vec<Event>;
    ready() -> ();
}

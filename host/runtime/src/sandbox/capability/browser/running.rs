//! A browser that runs: how do sessions get and lose their part of it, and what is done about what it tells? One
//! process tree for all sessions; it ends when the last session does, when it is dropped, and with the runtime.

use super::proxy;
use super::wire::{Speaker, Told, Wire};
use super::world::{Reaction, Room, Rules, World};
use super::{Browsers, DownloadState, Event, Failure, Reason, download, failure, launch};
use crate::sandbox::Layer;
use crate::sandbox::capability::files::Files;
use crate::sandbox::capability::process::child::{Launcher, Resident};
use chromiumoxide::cdp::browser_protocol::browser::{
    BrowserContextId, CancelDownloadParams, SetDownloadBehaviorBehavior, SetDownloadBehaviorParams,
};
use chromiumoxide::cdp::browser_protocol::network::{self, ConnectionType, OverrideNetworkStateParams};
use chromiumoxide::cdp::browser_protocol::page::{
    self, HandleJavaScriptDialogParams, SetInterceptFileChooserDialogParams, SetLifecycleEventsEnabledParams,
};
use chromiumoxide::cdp::browser_protocol::target::{
    CloseTargetParams, CreateBrowserContextParams, DisposeBrowserContextParams, FilterEntry, SetAutoAttachParams,
    SetDiscoverTargetsParams, TargetFilter,
};
use chromiumoxide::cdp::browser_protocol::{dom, log};
use chromiumoxide::cdp::js_protocol::runtime::{self, RunIfWaitingForDebuggerParams};
use std::collections::HashMap;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::task::{AbortHandle, JoinHandle};

/// How often it is looked for sessions that nobody uses any more.
const LOOK: Duration = Duration::from_secs(5);

/// A browser that runs. Lifetime: from the first session that needs it to the last.
pub(super) struct Running {
    wire: Wire,
    pub(super) world: Arc<Mutex<World>>,
    ways_out: Mutex<WaysOut>,
    /// Held while a session gets its part, so that two calls of one session do not make two.
    pub(super) adding: tokio::sync::Mutex<()>,
    launcher: tokio::sync::Mutex<Launcher>,
    saying: AbortHandle,
    idle: AbortHandle,
    /// The parts of the sandbox around it, and its version.
    pub(super) layers: Vec<Layer>,
}

/// The ports by which sessions get out: those that are free, and the tasks of the others.
struct WaysOut {
    free: Vec<Arc<tokio::net::TcpListener>>,
    taken: HashMap<String, (Arc<tokio::net::TcpListener>, JoinHandle<()>)>,
}

/// A port that is free again when nobody keeps it, whatever comes between.
struct Borrowed<'a> {
    from: &'a Mutex<WaysOut>,
    listener: Arc<tokio::net::TcpListener>,
    kept: bool,
}

impl Borrowed<'_> {
    fn from(ways_out: &Mutex<WaysOut>) -> Option<Borrowed<'_>> {
        let listener = lock(ways_out).free.pop()?;
        Some(Borrowed { from: ways_out, listener, kept: false })
    }
}

impl Drop for Borrowed<'_> {
    fn drop(&mut self) {
        if !self.kept {
            lock(self.from).free.push(self.listener.clone());
        }
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Running {
    /// Starts a browser. Dropping the future ends what was started.
    pub(super) async fn start(browsers: &Arc<Browsers>, deadline: Instant) -> Result<Arc<Running>, Failure> {
        let Some(helper) = &browsers.helper else {
            let why = "this program cannot start others: it does not call `helper_main` and names no helper";
            return Err(failure(Reason::Unavailable, why));
        };
        let Resident { launcher, channel, mut err, mut handed, layers } =
            launch::start(&browsers.settings, helper, deadline).await?;
        let folder = handed.pop().ok_or_else(|| failure(Reason::LayerMissing, "the sandbox handed nothing over"))?;
        let free = handed.into_iter().map(listener).collect::<std::io::Result<Vec<_>>>();
        let free = free.map_err(|error| failure(Reason::LayerMissing, format!("no way out can be used: {error}")))?;
        let world: Arc<Mutex<World>> = Arc::default();
        let downloads = Arc::new(Downloads {
            world: world.clone(),
            from: folder,
            files: Files::new(browsers.roots.clone(), true),
            folder: browsers.settings.downloads.clone().unwrap_or_default(),
            most: browsers.settings.download_mb.saturating_mul(1 << 20),
        });
        let wire = Wire::new(channel, listen(world.clone(), downloads));
        // What it says to people is read, so that it never waits for somebody who reads it.
        let saying = tokio::spawn(async move {
            while !err.is_over() {
                err.read().await;
            }
            let said = String::from_utf8_lossy(&err.tail()).into_owned();
            tracing::warn!(said = %crate::document::printable(&said), "the browser has ended");
        })
        .abort_handle();
        let idle = Duration::from_secs(browsers.settings.session_idle_seconds.max(1));
        let idle = tokio::spawn(end_idle(Arc::downgrade(browsers), idle)).abort_handle();
        let running = Running {
            wire,
            world,
            ways_out: Mutex::new(WaysOut { free, taken: HashMap::new() }),
            adding: tokio::sync::Mutex::default(),
            launcher: tokio::sync::Mutex::new(launcher),
            saying,
            idle,
            layers,
        };
        let speaker = running.speaker();
        speaker.tell(None, SetDiscoverTargetsParams { discover: true, filter: Some(only("page")) });
        speaker.ask(None, attach("page", true), deadline).await?;
        Ok(Arc::new(running))
    }

    pub(super) fn speaker(&self) -> &Speaker {
        self.wire.speaker()
    }

    pub(super) fn is_alive(&self) -> bool {
        self.wire.is_alive()
    }

    /// Ends it and waits until nothing of it is left.
    pub(super) async fn end(&self) {
        self.launcher.lock().await.end().await;
    }

    /// Gives a session its part of the browser.
    pub(super) async fn add_room(&self, browsers: &Browsers, key: &str, deadline: Instant) -> Result<(), Failure> {
        let Some(mut way_out) = Borrowed::from(&self.ways_out) else {
            return Err(failure(Reason::TooMany, "as many sessions use the browser as the operator allows"));
        };
        let context = self.make_context(browsers, &way_out.listener, deadline).await?;
        let settings = &browsers.settings;
        let rules = Rules {
            tabs: usize::try_from(settings.tabs).unwrap_or(usize::MAX),
            accept_dialogs: settings.accept_dialogs,
            may_download: settings.downloads.is_some(),
            download_bytes: settings.download_mb.saturating_mul(1 << 20),
        };
        lock(&self.world).add_room(key, context, rules);
        let (world, owner) = (self.world.clone(), key.to_owned());
        let report: proxy::Report = Arc::new(move |event| {
            if let Some(room) = lock(&world).rooms.get_mut(&owner) {
                room.news.push(event);
                room.change();
            }
        });
        way_out.kept = true;
        let (rules, listener) = (browsers.rules.clone(), way_out.listener.clone());
        let task = tokio::spawn(async move { proxy::serve(&listener, rules, report).await });
        lock(&self.ways_out).taken.insert(key.to_owned(), (way_out.listener.clone(), task));
        Ok(())
    }

    async fn make_context(
        &self,
        browsers: &Browsers,
        way_out: &tokio::net::TcpListener,
        deadline: Instant,
    ) -> Result<String, Failure> {
        let address = way_out.local_addr().map_err(|error| failure(Reason::Unavailable, error.to_string()))?;
        let wanted = CreateBrowserContextParams {
            dispose_on_detach: Some(true),
            proxy_server: Some(format!("http://{address}")),
            proxy_bypass_list: Some("<-loopback>".into()),
            origins_with_universal_network_access: None,
        };
        let context = self.speaker().ask(None, wanted, deadline).await?.browser_context_id;
        let behavior = match browsers.settings.downloads {
            Some(_) => SetDownloadBehaviorBehavior::AllowAndName,
            None => SetDownloadBehaviorBehavior::Deny,
        };
        let downloads = SetDownloadBehaviorParams {
            behavior,
            browser_context_id: Some(context.clone()),
            download_path: Some("/var/agent/downloads".into()),
            events_enabled: Some(true),
        };
        self.speaker().ask(None, downloads, deadline).await?;
        Ok(context.into())
    }

    /// Takes a session's part away: tabs, cookies, storage, connections.
    pub(super) fn remove_room(&self, key: &str) -> Option<Room> {
        let room = lock(&self.world).remove_room(key)?;
        self.speaker().tell(None, DisposeBrowserContextParams::new(BrowserContextId::new(&*room.context)));
        let mut ways_out = lock(&self.ways_out);
        if let Some((listener, task)) = ways_out.taken.remove(key) {
            task.abort();
            ways_out.free.push(listener);
        }
        Some(room)
    }

    /// Sessions that nobody has used for so long.
    pub(super) fn idle_rooms(&self, idle: Duration) -> Vec<String> {
        let world = lock(&self.world);
        let unused = world.rooms.iter().filter(|(_, room)| room.in_use == 0 && room.last_used.elapsed() >= idle);
        unused.map(|(key, _)| key.clone()).collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        lock(&self.world).rooms.is_empty()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.saying.abort();
        self.idle.abort();
        lock(&self.ways_out).taken.values().for_each(|(_, task)| task.abort());
    }
}

fn listener(descriptor: OwnedFd) -> std::io::Result<Arc<tokio::net::TcpListener>> {
    let listener = TcpListener::from(descriptor);
    listener.set_nonblocking(true)?;
    tokio::net::TcpListener::from_std(listener).map(Arc::new)
}

/// What keeps downloads needs.
struct Downloads {
    world: Arc<Mutex<World>>,
    from: OwnedFd,
    files: Files,
    folder: String,
    most: u64,
}

/// Takes in what the browser tells, and does what has to be done about it.
fn listen(world: Arc<Mutex<World>>, downloads: Arc<Downloads>) -> impl FnMut(&Speaker, Told) + Send + 'static {
    move |speaker, told| {
        let reaction = lock(&world).apply(&told.method, told.session.as_deref(), &told.params);
        match reaction {
            Some(Reaction::GoOn { session }) => speaker.tell(Some(&session), RunIfWaitingForDebuggerParams::default()),
            Some(Reaction::Close { target, session }) => {
                // Until it goes on, the page that opened it waits too.
                speaker.tell(Some(&session), RunIfWaitingForDebuggerParams::default());
                speaker.tell(None, CloseTargetParams::new(target));
            }
            Some(Reaction::Answer { session, yes }) => {
                speaker.tell(Some(&session), HandleJavaScriptDialogParams::new(yes));
            }
            Some(Reaction::Cancel { guid, context }) => {
                let browser_context_id = Some(BrowserContextId::new(context));
                speaker.tell(None, CancelDownloadParams { guid, browser_context_id });
            }
            Some(Reaction::SetUp { session }) => set_up(speaker, &session),
            Some(Reaction::SetUpPart { session }) => set_up_part(speaker, &session),
            Some(Reaction::Keep { room, guid }) => keep(downloads.clone(), room, guid),
            None => {}
        }
    }
}

/// Targets of one kind and no others.
fn only(kind: &str) -> TargetFilter {
    let this = FilterEntry { exclude: Some(false), r#type: Some(kind.to_owned()) };
    TargetFilter::new(vec![this, FilterEntry { exclude: Some(true), r#type: None }])
}

fn attach(kind: &str, wait: bool) -> SetAutoAttachParams {
    SetAutoAttachParams {
        auto_attach: true,
        wait_for_debugger_on_start: wait,
        flatten: Some(true),
        filter: Some(only(kind)),
    }
}

/// What is asked of every page before it runs: what it tells, and what it may not.
fn set_up(speaker: &Speaker, session: &str) {
    prepare(speaker, session);
    // A picker of files would wait for a person.
    speaker.tell(Some(session), SetInterceptFileChooserDialogParams { enabled: true, cancel: Some(true) });
    // Its own network has one way out only, which the browser would call none at all.
    let network = OverrideNetworkStateParams {
        offline: false,
        latency: 0.0,
        download_throughput: -1.0,
        upload_throughput: -1.0,
        connection_type: Some(ConnectionType::Ethernet),
    };
    speaker.tell(Some(session), network);
    speaker.tell(Some(session), RunIfWaitingForDebuggerParams::default());
}

fn set_up_part(speaker: &Speaker, session: &str) {
    prepare(speaker, session);
    speaker.tell(Some(session), RunIfWaitingForDebuggerParams::default());
}

fn prepare(speaker: &Speaker, session: &str) {
    let session = Some(session);
    speaker.tell(session, page::EnableParams::default());
    speaker.tell(session, SetLifecycleEventsEnabledParams::new(true));
    speaker.tell(session, runtime::EnableParams::default());
    speaker.tell(session, log::EnableParams::default());
    speaker.tell(session, dom::EnableParams::default());
    // Nothing of what comes has to be kept: nobody asks for it.
    let nothing_kept = network::EnableParams {
        max_total_buffer_size: Some(0),
        max_resource_buffer_size: Some(0),
        ..network::EnableParams::default()
    };
    speaker.tell(session, nothing_kept);
    speaker.tell(session, attach("iframe", false));
}

/// Moves a complete download where it belongs, on a thread that may wait for the disk.
fn keep(downloads: Arc<Downloads>, key: String, guid: String) {
    tokio::task::spawn_blocking(move || {
        let name = match lock(&downloads.world).rooms.get(&key).and_then(|room| room.downloads.get(&guid)) {
            Some(kept) => kept.name.clone(),
            None => return,
        };
        let Downloads { from, files, folder, most, .. } = &*downloads;
        let kept = download::keep(from, &guid, files, folder, &name, *most);
        let mut world = lock(&downloads.world);
        let Some(room) = world.rooms.get_mut(&key) else { return };
        let Some(mut known) = room.downloads.remove(&guid) else { return };
        let event = match kept {
            Ok((path, size)) => {
                known.size = size;
                known.told(DownloadState::Kept, Some(path))
            }
            Err(failure) => {
                tracing::warn!(message = %failure.message, "a download could not be kept");
                known.told(DownloadState::Failed, None)
            }
        };
        room.news.push(Event::Download(event));
        room.change();
    });
}

/// Ends sessions that nobody uses, until the future is dropped.
async fn end_idle(browsers: std::sync::Weak<Browsers>, idle: Duration) {
    loop {
        tokio::time::sleep(LOOK.min(idle)).await;
        let Some(browsers) = browsers.upgrade() else { return };
        browsers.end_idle(idle).await;
    }
}

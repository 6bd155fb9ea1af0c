//! What is known of a tab without asking its page? Where it is, how far it has come, which frames it has, what happened
//! in it. Kept up to date by what the browser tells; does nothing.

use super::world::{News, shown, text};
use super::{Event, Stage, TabState};
use chromiumoxide::cdp::browser_protocol::{inspector, log, network, page};
use chromiumoxide::cdp::js_protocol::runtime;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Requests without an end that are counted, at most.
const REQUESTS: usize = 10_000;
/// Frames that are kept, at most.
const FRAMES: usize = 2000;
/// How long a page that wants to go elsewhere may take until it asks for the other page.
const GOING: Duration = Duration::from_secs(2);
/// How long after a request for a page was given up it may show that its answer is a file to keep.
const GIVEN_UP: Duration = Duration::from_millis(500);

/// One tab.
pub(super) struct Tab {
    pub(super) id: u32,
    /// The browser's name for it, which is also that of its outermost frame.
    pub(super) target: String,
    /// The browser's session with it.
    pub(super) session: String,
    pub(super) opener: Option<u32>,
    pub(super) url: String,
    pub(super) title: String,
    status: Option<u16>,
    stage: Stage,
    page: u32,
    /// The answer to the latest request for a page: its loader and status.
    answered: Option<(String, u16)>,
    pending: HashSet<String>,
    /// When the page last wanted to go elsewhere, until it asks for the other page.
    going: Option<Instant>,
    /// When a request for a page was last given up, until it is known what for.
    given_up: Option<Instant>,
    /// The document that each frame shows, and the session in which it lives.
    loaders: HashMap<String, (String, String)>,
    loading: HashSet<String>,
    /// Frames in processes of their own: session and address.
    pub(super) parts: HashMap<String, Part>,
    /// Where scripts run, by session, frame and realm.
    pub(super) realms: HashMap<(String, String, bool), i64>,
    pub(super) news: News,
    changes: watch::Sender<u64>,
}

/// A frame in a process of its own.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) session: String,
    pub(super) url: String,
}

impl Tab {
    pub(super) fn new(id: u32, target: String, session: String, opener: Option<u32>, url: &str) -> Tab {
        Tab {
            id,
            target,
            session,
            opener,
            url: url.to_owned(),
            title: String::new(),
            status: None,
            stage: Stage::Waiting,
            page: 0,
            answered: None,
            pending: HashSet::new(),
            going: None,
            given_up: None,
            loaders: HashMap::new(),
            loading: HashSet::new(),
            parts: HashMap::new(),
            realms: HashMap::new(),
            news: News::default(),
            changes: watch::Sender::new(0),
        }
    }

    pub(super) fn state(&self) -> TabState {
        let is_within = |since: Option<Instant>, time| since.is_some_and(|since| since.elapsed() < time);
        let undecided = usize::from(is_within(self.going, GOING)) + usize::from(is_within(self.given_up, GIVEN_UP));
        TabState {
            url: self.url.clone(),
            title: self.title.clone(),
            status: self.status,
            stage: self.stage,
            page: self.page,
            pending: u32::try_from(self.pending.len() + undecided).unwrap_or(u32::MAX),
        }
    }

    /// Whether its page has been read, so that it can answer.
    pub(super) fn is_read(&self) -> bool {
        matches!(self.stage, Stage::Interactive | Stage::Complete)
    }

    pub(super) fn page(&self) -> u32 {
        self.page
    }

    /// Says when something has changed since now.
    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    pub(super) fn change(&self) {
        self.changes.send_modify(|count| *count = count.wrapping_add(1));
    }

    pub(super) fn note(&mut self, event: Event) {
        self.news.push(event);
        self.change();
    }

    /// What was asked for is a file, not a page.
    pub(super) fn download_begins(&mut self) {
        (self.going, self.given_up) = (None, None);
        self.change();
    }

    pub(super) fn crash(&mut self) {
        self.stage = Stage::Crashed;
        self.pending.clear();
        (self.going, self.given_up) = (None, None);
        self.loading.clear();
        self.realms.clear();
        self.note(Event::Crashed);
    }

    pub(super) fn has_frame(&self, frame: &str) -> bool {
        self.target == frame || self.loaders.contains_key(frame) || self.parts.contains_key(frame)
    }

    pub(super) fn is_loading(&self, frame: &str) -> bool {
        self.loading.contains(frame)
    }

    /// The session in which a frame lives.
    pub(super) fn session_of(&self, frame: &str) -> &str {
        let part = self.parts.get(frame).map(|part| &part.session);
        part.or_else(|| self.loaders.get(frame).map(|(_, session)| session)).unwrap_or(&self.session)
    }

    /// The document that a frame shows.
    pub(super) fn loader(&self, frame: &str) -> Option<&str> {
        self.loaders.get(frame).map(|(loader, _)| loader.as_str())
    }

    /// Notes which document a frame shows.
    pub(super) fn set_loader(&mut self, frame: &str, loader: &str, session: &str) {
        if self.loaders.len() < FRAMES || self.loaders.contains_key(frame) {
            self.loaders.insert(frame.to_owned(), (loader.to_owned(), session.to_owned()));
        }
    }

    pub(super) fn add_part(&mut self, frame: String, session: String, url: &str) {
        if self.parts.len() < FRAMES {
            self.parts.insert(frame, Part { session, url: url.to_owned() });
        }
        self.change();
    }

    pub(super) fn remove_part(&mut self, session: &str) {
        self.parts.retain(|_, part| part.session != session);
        self.realms.retain(|(own, ..), _| own != session);
        self.change();
    }

    /// Takes in an event of the tab's page or of a part of it. Of most only a few words are of interest, so they are
    /// read by name: a browser that is newer than our library says some with words that its types do not have.
    pub(super) fn apply(&mut self, method: &str, session: &str, params: &Value) {
        match method {
            page::EventFrameNavigated::IDENTIFIER => self.navigated(session, &params["frame"]),
            page::EventFrameDetached::IDENTIFIER if params["reason"] == "remove" => {
                let frame = text(&params["frameId"]);
                self.loaders.remove(frame);
                self.loading.remove(frame);
            }
            page::EventFrameStartedLoading::IDENTIFIER if self.loading.len() < FRAMES => {
                self.loading.insert(text(&params["frameId"]).to_owned());
            }
            page::EventFrameStoppedLoading::IDENTIFIER => drop(self.loading.remove(text(&params["frameId"]))),
            page::EventLifecycleEvent::IDENTIFIER => self.came(params),
            page::EventFrameRequestedNavigation::IDENTIFIER
                if params["frameId"] == self.target.as_str()
                    && matches!(text(&params["disposition"]), "currentTab" | "download") =>
            {
                self.going = Some(Instant::now());
            }
            page::EventNavigatedWithinDocument::IDENTIFIER if params["frameId"] == self.target.as_str() => {
                self.going = None;
            }
            network::EventRequestWillBeSent::IDENTIFIER if self.pending.len() < REQUESTS => {
                if params["type"] == "Document" && params["frameId"] == self.target.as_str() {
                    self.going = None;
                }
                if !text(&params["request"]["url"]).starts_with("data:") {
                    self.pending.insert(text(&params["requestId"]).to_owned());
                }
            }
            network::EventResponseReceived::IDENTIFIER => self.answered(params),
            network::EventLoadingFinished::IDENTIFIER | network::EventLoadingFailed::IDENTIFIER => {
                self.pending.remove(text(&params["requestId"]));
                if method == network::EventLoadingFailed::IDENTIFIER && params["type"] == "Document" {
                    self.given_up = Some(Instant::now());
                }
            }
            runtime::EventExecutionContextCreated::IDENTIFIER => self.realm_made(session, &params["context"]),
            runtime::EventExecutionContextDestroyed::IDENTIFIER => {
                let id = params["executionContextId"].as_i64();
                self.realms.retain(|(own, ..), known| own != session || Some(*known) != id);
            }
            runtime::EventExecutionContextsCleared::IDENTIFIER => self.realms.retain(|(own, ..), _| own != session),
            runtime::EventConsoleApiCalled::IDENTIFIER => self.said(params),
            runtime::EventExceptionThrown::IDENTIFIER => {
                let details = &params["exceptionDetails"];
                let thrown = shown(text(&details["exception"]["description"]));
                let why = if thrown.is_empty() { shown(text(&details["text"])) } else { thrown };
                self.news.push(Event::Console(("error".into(), why)));
            }
            log::EventEntryAdded::IDENTIFIER => self.logged(&params["entry"]),
            inspector::EventTargetCrashed::IDENTIFIER => return self.crash(),
            _ => return,
        }
        self.change();
    }

    fn navigated(&mut self, session: &str, frame: &Value) {
        let (id, loader) = (text(&frame["id"]), text(&frame["loaderId"]));
        self.set_loader(id, loader, session);
        self.realms.retain(|(own, known, _), _| own != session || known != id);
        if id != self.target {
            return;
        }
        self.loaders.retain(|known, _| known == id);
        self.url = text(&frame["url"]).to_owned();
        self.page += 1;
        self.stage = Stage::Committed;
        self.pending.clear();
        (self.going, self.given_up) = (None, None);
        self.status = self.answered.take_if(|(answered, _)| answered == loader).map(|(_, status)| status);
    }

    fn came(&mut self, params: &Value) {
        let frame = text(&params["frameId"]);
        if frame != self.target || self.loader(frame) != params["loaderId"].as_str() {
            return;
        }
        self.stage = match text(&params["name"]) {
            "DOMContentLoaded" if self.stage != Stage::Complete => Stage::Interactive,
            "load" => Stage::Complete,
            _ => return,
        };
    }

    fn answered(&mut self, params: &Value) {
        if params["type"] == "Document" && params["frameId"] == self.target.as_str() {
            let status = params["response"]["status"].as_u64().and_then(|status| u16::try_from(status).ok());
            self.answered = status.map(|status| (text(&params["loaderId"]).to_owned(), status));
        }
    }

    fn realm_made(&mut self, session: &str, context: &Value) {
        let (frame, id) = (text(&context["auxData"]["frameId"]), context["id"].as_i64());
        let is_pages = context["auxData"]["isDefault"] == true;
        if let (Some(id), true) = (id, is_pages && self.realms.len() < 2 * FRAMES) {
            self.realms.insert((session.to_owned(), frame.to_owned(), true), id);
        }
    }

    /// What a page says to its developers; only trouble is kept.
    fn said(&mut self, params: &Value) {
        let level = match text(&params["type"]) {
            "error" | "assert" => "error",
            "warning" => "warning",
            _ => return,
        };
        let part = |value: &Value| match (&value["value"], &value["description"]) {
            (Value::String(text), _) => text.clone(),
            (Value::Null, Value::String(text)) => text.clone(),
            (value, _) => value.to_string(),
        };
        let parts = params["args"].as_array().into_iter().flatten().take(20);
        let line = parts.map(part).collect::<Vec<_>>().join(" ");
        self.news.push(Event::Console((level.into(), crate::document::excerpt(&line, 1000))));
    }

    fn logged(&mut self, entry: &Value) {
        // Browsers ask for it on their own account.
        let is_icon = text(&entry["url"]).ends_with("/favicon.ico");
        if entry["level"] != "error" || is_icon {
            return;
        }
        let (what, place) = (shown(text(&entry["text"])), shown(text(&entry["url"])));
        let line = if place.is_empty() { what } else { format!("{what} ({place})") };
        self.news.push(Event::Console(("error".into(), line)));
    }
}

//! What is known of the browser without asking it? Rooms, one for each session, their tabs and documents, kept up to
//! date by what the browser tells. Changes itself and says what has to be done about it; does nothing.

use super::tab::Tab;
use super::{DownloadState, Event};
use chromiumoxide::cdp::browser_protocol::browser::{
    DownloadProgressState, EventDownloadProgress, EventDownloadWillBegin,
};
use chromiumoxide::cdp::browser_protocol::page::{DialogType, EventJavascriptDialogOpening};
use chromiumoxide::cdp::browser_protocol::target::{
    EventAttachedToTarget, EventDetachedFromTarget, EventTargetCrashed, EventTargetDestroyed, EventTargetInfoChanged,
    TargetInfo,
};
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::time::Instant;

/// Events of a room that are kept until somebody asks.
const NEWS: usize = 100;

/// One session's part of the browser. Nothing of it is seen by another one.
pub(super) struct Room {
    /// The browser's name for it.
    pub(super) context: String,
    pub(super) tabs: BTreeMap<u32, Tab>,
    pub(super) current: Option<u32>,
    next_tab: u32,
    next_document: u32,
    documents: HashMap<(String, String), u32>,
    /// Where a document is: its frame, its loader.
    places: HashMap<u32, (String, String)>,
    pub(super) downloads: HashMap<String, Kept>,
    pub(super) news: News,
    /// Attempts that are at work in it.
    pub(super) in_use: u32,
    pub(super) last_used: Instant,
    rules: Rules,
}

/// What holds for each room.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    pub(super) tabs: usize,
    pub(super) accept_dialogs: bool,
    pub(super) may_download: bool,
    pub(super) download_bytes: u64,
}

/// Events in order, up to a limit.
#[derive(Default)]
pub(super) struct News {
    events: Vec<Event>,
    left_out: u32,
}

impl News {
    pub(super) fn push(&mut self, event: Event) {
        match self.events.len() < NEWS {
            true => self.events.push(event),
            false => self.left_out = self.left_out.saturating_add(1),
        }
    }

    pub(super) fn take(&mut self) -> Vec<Event> {
        let mut events = std::mem::take(&mut self.events);
        let left_out = std::mem::take(&mut self.left_out);
        if left_out > 0 {
            events.push(Event::LeftOut(left_out));
        }
        events
    }
}

/// A download that is under way.
pub(super) struct Kept {
    pub(super) url: String,
    pub(super) name: String,
    pub(super) size: u64,
    ended: bool,
}

/// What has to be done about something that was told.
#[derive(Debug)]
pub(super) enum Reaction {
    /// Let something go on that waits for us and is none of ours.
    GoOn { session: String },
    /// Close a tab that may not be.
    Close { target: String, session: String },
    /// Answer a dialog.
    Answer { session: String, yes: bool },
    /// End a download.
    Cancel { guid: String, context: String },
    /// Make a new page ready and let it go on.
    SetUp { session: String },
    /// Make a part of a page ready.
    SetUpPart { session: String },
    /// A download is complete: keep the file.
    Keep { room: String, guid: String },
}

/// All rooms. Lifetime: the browser.
#[derive(Default)]
pub(super) struct World {
    /// By session.
    pub(super) rooms: HashMap<String, Room>,
    /// To which room and tab the browser's sessions belong.
    sessions: HashMap<String, (String, u32)>,
}

impl World {
    pub(super) fn add_room(&mut self, key: &str, context: String, rules: Rules) {
        let room = Room {
            context,
            tabs: BTreeMap::new(),
            current: None,
            next_tab: 1,
            next_document: 1,
            documents: HashMap::new(),
            places: HashMap::new(),
            downloads: HashMap::new(),
            news: News::default(),
            in_use: 0,
            last_used: Instant::now(),
            rules,
        };
        self.rooms.insert(key.to_owned(), room);
    }

    pub(super) fn remove_room(&mut self, key: &str) -> Option<Room> {
        self.sessions.retain(|_, (room, _)| room != key);
        self.rooms.remove(key)
    }

    /// The tab that an event is about.
    fn tab_of(&mut self, session: Option<&str>) -> Option<(&mut Room, u32)> {
        let (room, tab) = self.sessions.get(session?)?;
        Some((self.rooms.get_mut(room)?, *tab))
    }

    /// Takes in what the browser told.
    pub(super) fn apply(&mut self, method: &str, session: Option<&str>, params: &Value) -> Option<Reaction> {
        match method {
            EventAttachedToTarget::IDENTIFIER => self.attached(session, params),
            EventDetachedFromTarget::IDENTIFIER => told(params).and_then(|event| self.detached(event)),
            EventTargetInfoChanged::IDENTIFIER => told(params).and_then(|event| self.renamed(event)),
            EventTargetDestroyed::IDENTIFIER => told(params).and_then(|event| self.closed(event)),
            EventTargetCrashed::IDENTIFIER => told(params).and_then(|event| self.crashed(event)),
            EventDownloadWillBegin::IDENTIFIER => told(params).and_then(|event| self.download_begins(event)),
            EventDownloadProgress::IDENTIFIER => told(params).and_then(|event| self.download_goes_on(&event)),
            EventJavascriptDialogOpening::IDENTIFIER => {
                let session = session?;
                // One of a kind that is not known keeps its page from everything as well.
                let no = Reaction::Answer { session: session.to_owned(), yes: false };
                told(params).map_or(Some(no), |event| self.dialog(session, event))
            }
            _ => {
                let name = session.map(str::to_owned);
                if let (Some((room, tab)), Some(session)) = (self.tab_of(session), name)
                    && let Some(tab) = room.tabs.get_mut(&tab)
                {
                    tab.apply(method, &session, params);
                }
                None
            }
        }
    }

    fn attached(&mut self, parent: Option<&str>, params: &Value) -> Option<Reaction> {
        let Some(EventAttachedToTarget { session_id, target_info, .. }) = told(params) else {
            // Whatever it is, it waits.
            return Some(Reaction::GoOn { session: text(&params["sessionId"]).to_owned() });
        };
        let session: String = session_id.into();
        let TargetInfo { target_id, r#type, url, browser_context_id, opener_id, .. } = target_info;
        let target: String = target_id.into();
        if r#type == "iframe" {
            let owner = parent.and_then(|parent| self.sessions.get(parent)).cloned();
            let Some((key, id)) = owner else { return Some(Reaction::GoOn { session }) };
            if let Some(tab) = self.rooms.get_mut(&key).and_then(|room| room.tabs.get_mut(&id)) {
                tab.add_part(target, session.clone(), &url);
            }
            self.sessions.insert(session.clone(), (key, id));
            return Some(Reaction::SetUpPart { session });
        }
        let context: String = browser_context_id.map(Into::into).unwrap_or_default();
        let found = self.rooms.iter_mut().find(|(_, room)| room.context == context);
        let Some((key, room)) = found else { return Some(Reaction::GoOn { session }) };
        let is_opener = |tab: &&Tab| opener_id.as_ref().is_some_and(|opener| tab.target == *opener.inner());
        let opener = room.tabs.values().find(is_opener).map(|tab| tab.id);
        if room.tabs.len() >= room.rules.tabs {
            if let Some(opener) = opener.and_then(|id| room.tabs.get_mut(&id)) {
                opener.news.push(Event::NotOpened(shown(&url)));
            }
            return Some(Reaction::Close { target, session });
        }
        let id = room.next_tab;
        room.next_tab += 1;
        room.tabs.insert(id, Tab::new(id, target, session.clone(), opener, &url));
        if let Some(opener) = opener.and_then(|id| room.tabs.get_mut(&id)) {
            opener.note(Event::Opened(id));
        }
        room.current = room.current.or(Some(id));
        self.sessions.insert(session.clone(), (key.clone(), id));
        Some(Reaction::SetUp { session })
    }

    fn detached(&mut self, event: EventDetachedFromTarget) -> Option<Reaction> {
        let session: String = event.session_id.into();
        if let Some((key, id)) = self.sessions.remove(&session)
            && let Some(tab) = self.rooms.get_mut(&key).and_then(|room| room.tabs.get_mut(&id))
        {
            tab.remove_part(&session);
        }
        None
    }

    fn tab_with_target(&mut self, target: &str) -> Option<(&mut Room, u32)> {
        self.rooms.values_mut().find_map(|room| {
            let id = room.tabs.values().find(|tab| tab.target == target)?.id;
            Some((room, id))
        })
    }

    fn renamed(&mut self, event: EventTargetInfoChanged) -> Option<Reaction> {
        let TargetInfo { target_id, title, url, .. } = event.target_info;
        if let Some((room, id)) = self.tab_with_target(target_id.inner())
            && let Some(tab) = room.tabs.get_mut(&id)
        {
            tab.title = shown(&title);
            tab.url = url;
            tab.change();
        }
        None
    }

    fn closed(&mut self, event: EventTargetDestroyed) -> Option<Reaction> {
        if let Some((room, id)) = self.tab_with_target(event.target_id.inner()) {
            room.forget(id);
            let rooms = &self.rooms;
            self.sessions.retain(|_, (key, id)| rooms.get(key).is_some_and(|room| room.tabs.contains_key(id)));
        }
        None
    }

    fn crashed(&mut self, event: EventTargetCrashed) -> Option<Reaction> {
        if let Some((room, id)) = self.tab_with_target(event.target_id.inner())
            && let Some(tab) = room.tabs.get_mut(&id)
        {
            tab.crash();
        }
        None
    }

    /// Every dialog is answered at once: nobody sits before it, and a page that waits for one does nothing else.
    fn dialog(&mut self, session: &str, event: EventJavascriptDialogOpening) -> Option<Reaction> {
        let (room, id) = self.tab_of(Some(session))?;
        // An alert has one answer, and a page that wants to keep its visitor is left.
        let yes = room.rules.accept_dialogs || matches!(event.r#type, DialogType::Alert | DialogType::Beforeunload);
        if let Some(tab) = room.tabs.get_mut(&id) {
            tab.note(Event::Dialog((event.r#type.as_ref().to_owned(), shown(&event.message), yes)));
        }
        Some(Reaction::Answer { session: session.to_owned(), yes })
    }

    fn download_begins(&mut self, event: EventDownloadWillBegin) -> Option<Reaction> {
        let frame = event.frame_id.inner();
        let room = self.rooms.values_mut().find(|room| room.tabs.values().any(|tab| tab.has_frame(frame)))?;
        let kept = Kept {
            url: shown(&event.url),
            name: super::download::clean_name(&event.suggested_filename),
            size: 0,
            ended: !room.rules.may_download,
        };
        let state = if room.rules.may_download { DownloadState::Started } else { DownloadState::Refused };
        room.news.push(Event::Download(kept.told(state, None)));
        room.downloads.insert(event.guid.clone(), kept);
        room.tabs.values_mut().filter(|tab| tab.has_frame(frame)).for_each(Tab::download_begins);
        room.change();
        (!room.rules.may_download).then(|| Reaction::Cancel { guid: event.guid, context: room.context.clone() })
    }

    fn download_goes_on(&mut self, event: &EventDownloadProgress) -> Option<Reaction> {
        let (key, room) = self.rooms.iter_mut().find(|(_, room)| room.downloads.contains_key(&event.guid))?;
        let (most, context, guid) = (room.rules.download_bytes, room.context.clone(), event.guid.clone());
        let kept = room.downloads.get_mut(&guid)?;
        kept.size = event.received_bytes as u64;
        if kept.ended {
            room.downloads.remove(&guid);
            return None;
        }
        let announced = event.total_bytes as u64;
        if kept.size.max(announced) > most {
            kept.ended = true;
            kept.size = kept.size.max(announced);
            let event = Event::Download(kept.told(DownloadState::TooLarge, None));
            room.news.push(event);
            room.change();
            return Some(Reaction::Cancel { guid, context });
        }
        match event.state {
            DownloadProgressState::Completed => {
                kept.ended = true;
                Some(Reaction::Keep { room: key.clone(), guid })
            }
            DownloadProgressState::Canceled => {
                let event = Event::Download(kept.told(DownloadState::Failed, None));
                room.downloads.remove(&guid);
                room.news.push(event);
                room.change();
                None
            }
            DownloadProgressState::InProgress => None,
        }
    }
}

impl Kept {
    pub(super) fn told(&self, state: DownloadState, path: Option<String>) -> super::Download {
        super::Download { url: self.url.clone(), name: self.name.clone(), state, size: self.size, path }
    }
}

impl Room {
    /// The number of a document, the same whenever it is asked for.
    pub(super) fn document(&mut self, frame: &str, loader: &str) -> u32 {
        let key = (frame.to_owned(), loader.to_owned());
        if let Some(known) = self.documents.get(&key) {
            return *known;
        }
        let number = self.next_document;
        self.next_document += 1;
        self.documents.insert(key.clone(), number);
        self.places.insert(number, key);
        number
    }

    /// The frame and loader of a document.
    pub(super) fn place(&self, document: u32) -> Option<&(String, String)> {
        self.places.get(&document)
    }

    /// Takes a tab out.
    pub(super) fn forget(&mut self, id: u32) -> Option<Tab> {
        let tab = self.tabs.remove(&id)?;
        tab.change();
        if self.current == Some(id) {
            let opener = tab.opener.filter(|opener| self.tabs.contains_key(opener));
            self.current = opener.or_else(|| self.tabs.keys().next_back().copied());
        }
        Some(tab)
    }

    /// Lets everybody look again who waits in a tab.
    pub(super) fn change(&self) {
        self.tabs.values().for_each(Tab::change);
    }
}

pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// An event as our library knows it; none for one in a form that is newer.
pub(super) fn told<T: for<'a> Deserialize<'a>>(params: &Value) -> Option<T> {
    T::deserialize(params).inspect_err(|error| tracing::debug!(%error, "an event of the browser is not known")).ok()
}

/// A page's text as it may be shown: on one line, cut.
pub(super) fn shown(text: &str) -> String {
    crate::document::excerpt(text, 1000)
}

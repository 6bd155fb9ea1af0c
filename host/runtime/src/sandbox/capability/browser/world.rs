//! What is known of the browser without asking it? Rooms, one for each session, their tabs and documents, kept up to
//! date by what the browser tells. Changes itself and says what has to be done about it; does nothing.

use super::tab::Tab;
use super::{DownloadState, Event};
use serde_json::{Value, json};
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
    /// Send this.
    Tell { session: Option<String>, method: &'static str, params: Value },
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
    pub(super) fn apply(&mut self, method: &str, session: Option<&str>, params: &Value) -> Vec<Reaction> {
        match method {
            "Target.attachedToTarget" => self.attached(session, params),
            "Target.detachedFromTarget" => self.detached(params),
            "Target.targetInfoChanged" => self.renamed(&params["targetInfo"]),
            "Target.targetDestroyed" => self.closed(text(&params["targetId"])),
            "Target.targetCrashed" => self.crashed(text(&params["targetId"])),
            "Browser.downloadWillBegin" => self.download_begins(params),
            "Browser.downloadProgress" => self.download_goes_on(params),
            "Page.javascriptDialogOpening" => self.dialog(session, params),
            _ => {
                let name = session.map(str::to_owned);
                if let (Some((room, tab)), Some(session)) = (self.tab_of(session), name)
                    && let Some(tab) = room.tabs.get_mut(&tab)
                {
                    tab.apply(method, &session, params);
                }
                Vec::new()
            }
        }
    }

    fn attached(&mut self, parent: Option<&str>, params: &Value) -> Vec<Reaction> {
        let info = &params["targetInfo"];
        let session = text(&params["sessionId"]).to_owned();
        let target = text(&info["targetId"]).to_owned();
        let go_on = |session: &str| Reaction::Tell {
            session: Some(session.to_owned()),
            method: "Runtime.runIfWaitingForDebugger",
            params: json!({}),
        };
        if info["type"] == "iframe" {
            let owner = parent.and_then(|parent| self.sessions.get(parent)).cloned();
            let Some((key, id)) = owner else { return vec![go_on(&session)] };
            if let Some(tab) = self.rooms.get_mut(&key).and_then(|room| room.tabs.get_mut(&id)) {
                tab.add_part(target, session.clone(), text(&info["url"]));
            }
            self.sessions.insert(session.clone(), (key, id));
            return vec![Reaction::SetUpPart { session }];
        }
        let context = text(&info["browserContextId"]);
        let found = self.rooms.iter_mut().find(|(_, room)| room.context == context);
        let Some((key, room)) = found else { return vec![go_on(&session)] };
        let opener = room.tabs.values().find(|tab| tab.target == text(&info["openerId"])).map(|tab| tab.id);
        if room.tabs.len() >= room.rules.tabs {
            if let Some(opener) = opener.and_then(|id| room.tabs.get_mut(&id)) {
                opener.news.push(Event::NotOpened(shown(&info["url"])));
            }
            let params = json!({ "targetId": target });
            return vec![Reaction::Tell { session: None, method: "Target.closeTarget", params }];
        }
        let id = room.next_tab;
        room.next_tab += 1;
        room.tabs.insert(id, Tab::new(id, target, session.clone(), opener, text(&info["url"])));
        if let Some(opener) = opener.and_then(|id| room.tabs.get_mut(&id)) {
            opener.note(Event::Opened(id));
        }
        room.current = room.current.or(Some(id));
        self.sessions.insert(session.clone(), (key.clone(), id));
        vec![Reaction::SetUp { session }]
    }

    fn detached(&mut self, params: &Value) -> Vec<Reaction> {
        let session = text(&params["sessionId"]);
        if let Some((key, id)) = self.sessions.remove(session)
            && let Some(tab) = self.rooms.get_mut(&key).and_then(|room| room.tabs.get_mut(&id))
        {
            tab.remove_part(session);
        }
        Vec::new()
    }

    fn tab_with_target(&mut self, target: &str) -> Option<(&mut Room, u32)> {
        self.rooms.values_mut().find_map(|room| {
            let id = room.tabs.values().find(|tab| tab.target == target)?.id;
            Some((room, id))
        })
    }

    fn renamed(&mut self, info: &Value) -> Vec<Reaction> {
        if let Some((room, id)) = self.tab_with_target(text(&info["targetId"]))
            && let Some(tab) = room.tabs.get_mut(&id)
        {
            tab.title = shown(&info["title"]);
            tab.url = text(&info["url"]).to_owned();
            tab.change();
        }
        Vec::new()
    }

    fn closed(&mut self, target: &str) -> Vec<Reaction> {
        let mut gone = None;
        if let Some((room, id)) = self.tab_with_target(target) {
            room.forget(id);
            gone = Some(id);
        }
        if gone.is_some() {
            let rooms = &self.rooms;
            self.sessions.retain(|_, (key, id)| rooms.get(key).is_some_and(|room| room.tabs.contains_key(id)));
        }
        Vec::new()
    }

    fn crashed(&mut self, target: &str) -> Vec<Reaction> {
        if let Some((room, id)) = self.tab_with_target(target)
            && let Some(tab) = room.tabs.get_mut(&id)
        {
            tab.crash();
        }
        Vec::new()
    }

    /// Every dialog is answered at once: nobody sits before it, and a page that waits for one does nothing else.
    fn dialog(&mut self, session: Option<&str>, params: &Value) -> Vec<Reaction> {
        let Some((room, id)) = self.tab_of(session) else { return Vec::new() };
        let kind = text(&params["type"]).to_owned();
        // An alert has one answer, and a page that wants to keep its visitor is left.
        let yes = room.rules.accept_dialogs || kind == "alert" || kind == "beforeunload";
        if let Some(tab) = room.tabs.get_mut(&id) {
            tab.note(Event::Dialog((kind, shown(&params["message"]), yes)));
        }
        let params = json!({ "accept": yes });
        vec![Reaction::Tell { session: session.map(str::to_owned), method: "Page.handleJavaScriptDialog", params }]
    }

    fn download_begins(&mut self, params: &Value) -> Vec<Reaction> {
        let frame = text(&params["frameId"]);
        let mut found = self.rooms.values_mut().find(|room| room.tabs.values().any(|tab| tab.has_frame(frame)));
        let Some(room) = found.as_mut() else { return Vec::new() };
        let guid = text(&params["guid"]).to_owned();
        let kept = Kept {
            url: shown(&params["url"]),
            name: super::download::clean_name(text(&params["suggestedFilename"])),
            size: 0,
            ended: false,
        };
        let state = if room.rules.may_download { DownloadState::Started } else { DownloadState::Refused };
        room.news.push(Event::Download(kept.told(state, None)));
        let context = room.context.clone();
        let refused = !room.rules.may_download;
        room.downloads.insert(guid.clone(), Kept { ended: refused, ..kept });
        room.change();
        match refused {
            true => vec![cancel(&guid, &context)],
            false => Vec::new(),
        }
    }

    fn download_goes_on(&mut self, params: &Value) -> Vec<Reaction> {
        let guid = text(&params["guid"]);
        let found = self.rooms.iter_mut().find(|(_, room)| room.downloads.contains_key(guid));
        let Some((key, room)) = found else { return Vec::new() };
        let most = room.rules.download_bytes;
        let context = room.context.clone();
        let Some(kept) = room.downloads.get_mut(guid) else { return Vec::new() };
        kept.size = params["receivedBytes"].as_f64().map_or(kept.size, |bytes| bytes as u64);
        if kept.ended {
            room.downloads.remove(guid);
            return Vec::new();
        }
        let announced = params["totalBytes"].as_f64().map_or(0, |bytes| bytes as u64);
        let state = text(&params["state"]);
        if kept.size.max(announced) > most {
            kept.ended = true;
            kept.size = kept.size.max(announced);
            let event = Event::Download(kept.told(DownloadState::TooLarge, None));
            room.news.push(event);
            room.change();
            return vec![cancel(guid, &context)];
        }
        match state {
            "completed" => {
                kept.ended = true;
                vec![Reaction::Keep { room: key.clone(), guid: guid.to_owned() }]
            }
            "canceled" => {
                let event = Event::Download(kept.told(DownloadState::Failed, None));
                room.downloads.remove(guid);
                room.news.push(event);
                room.change();
                Vec::new()
            }
            _ => Vec::new(),
        }
    }
}

fn cancel(guid: &str, context: &str) -> Reaction {
    let params = json!({ "guid": guid, "browserContextId": context });
    Reaction::Tell { session: None, method: "Browser.cancelDownload", params }
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

/// A page's text as it may be shown: on one line, cut.
pub(super) fn shown(value: &Value) -> String {
    crate::document::excerpt(text(value), 1000)
}

//! What can be done in a tab, in the browser's terms? Each function is a few requests; what they mean for a caller is
//! the component's business.

use super::running::lock;
use super::tab::Tab;
use super::world::{Room, text};
use super::{Event, Failure, Reason, Speaker, TabState, Tabs, Used, failure, launch, wit};
use crate::address::{Host, Reach};
use base64::Engine;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// For what only the attempt's own end limits.
pub(super) const LONG: Duration = Duration::from_secs(24 * 3600);
/// How long one question to a page may take. One that is asked more is busy with itself.
const ANSWER: Duration = Duration::from_secs(10);
/// How long a frame may take to say what is in it.
const FRAME: Duration = Duration::from_secs(2);
/// Longest time that a component can wait for a change at once.
const WAIT: Duration = Duration::from_secs(5);
/// Documents of one tab that are looked at.
const FRAMES: usize = 200;
/// Nodes of one document.
const NODES: usize = 50_000;
/// Longest picture of a whole page, in pixels.
const TALLEST: f64 = 16_384.0;
/// Largest picture, in bytes.
const PICTURE: usize = 16 << 20;
/// Most clicks at once.
const CLICKS: u32 = 3;

/// A tab as requests to it need it.
pub(super) struct Open {
    pub(super) speaker: Speaker,
    pub(super) session: String,
    pub(super) target: String,
    pub(super) deadline: Instant,
}

impl Open {
    /// Asks the tab's page.
    pub(super) async fn ask(&self, method: &str, params: Value) -> Result<Value, Failure> {
        self.ask_in(&self.session, method, params, ANSWER).await
    }

    /// Asks a part of the page.
    pub(super) async fn ask_in(
        &self,
        session: &str,
        method: &str,
        params: Value,
        most: Duration,
    ) -> Result<Value, Failure> {
        let deadline = self.deadline.min(Instant::now() + most);
        let answer = self.speaker.ask(Some(session), method, params, deadline).await;
        if answer.as_ref().is_err_and(|error| error.reason == Reason::TimedOut) {
            // A script that does not end keeps its page from everything else, also from being left.
            self.speaker.tell(Some(session), "Runtime.terminateExecution", json!({}));
        }
        answer
    }
}

/// An element is named by a number that counts only within its document.
pub(super) fn in_element(error: Failure) -> Failure {
    let gone = ["No node", "Could not find node", "not belong to the document", "Node with given id"];
    match error.reason == Reason::Refused && gone.iter().any(|word| error.message.contains(word)) {
        true => failure(Reason::Gone, "the element is not there any more"),
        false => error,
    }
}

impl Tabs {
    /// Works on the session's room, without waiting.
    pub(super) async fn room<T>(&mut self, work: impl FnOnce(&mut Room) -> Result<T, Failure>) -> Result<T, Failure> {
        let Used { running, key, .. } = self.used().await?;
        let mut world = lock(&running.world);
        let room = world.rooms.get_mut(key);
        work(room.ok_or_else(|| failure(Reason::Crashed, "the session's tabs are gone"))?)
    }

    /// Works on a tab, without waiting.
    pub(super) async fn tab<T>(&mut self, id: u32, work: impl FnOnce(&mut Tab) -> T) -> Result<T, Failure> {
        self.room(|room| match room.tabs.get_mut(&id) {
            Some(tab) => Ok(work(tab)),
            None => Err(failure(Reason::NoSuchTab, format!("no tab has the number {id}"))),
        })
        .await
    }

    pub(super) async fn at(&mut self, id: u32) -> Result<Open, Failure> {
        let deadline = self.deadline;
        let speaker = self.used().await?.running.speaker().clone();
        self.tab(id, |tab| Open { speaker, session: tab.session.clone(), target: tab.target.clone(), deadline }).await
    }

    pub(super) async fn tabs(&mut self) -> Result<Vec<wit::Tab>, Failure> {
        self.room(|room| {
            let current = room.current;
            let told = |tab: &Tab| wit::Tab {
                id: tab.id,
                url: tab.url.clone(),
                title: tab.title.clone(),
                opener: tab.opener,
                current: current == Some(tab.id),
            };
            Ok(room.tabs.values().map(told).collect())
        })
        .await
    }

    pub(super) async fn open(&mut self) -> Result<u32, Failure> {
        let deadline = self.deadline;
        let most = self.browsers.settings.tabs;
        let context = self
            .room(|room| match (room.tabs.len() as u64) < most {
                true => Ok(room.context.clone()),
                false => Err(failure(Reason::TooMany, format!("{most} tabs are open, as many as a session may have"))),
            })
            .await?;
        let used = self.used().await?;
        let params = json!({ "url": "about:blank", "browserContextId": context });
        let made = used.running.speaker().ask(None, "Target.createTarget", params, deadline).await?;
        let target = text(&made["targetId"]).to_owned();
        // The browser has told of it before it answered.
        let id = self
            .room(|room| {
                let id = room.tabs.values().find(|tab| tab.target == target).map(|tab| tab.id);
                room.current = id.or(room.current);
                id.ok_or_else(|| failure(Reason::TooMany, "the browser opened no tab"))
            })
            .await?;
        self.used().await?.opened.push(id);
        // Asked for a page sooner, it would not tell of it: what was asked of it at its start is answered by now.
        let open = self.at(id).await?;
        open.ask("Page.setLifecycleEventsEnabled", json!({ "enabled": true })).await?;
        Ok(id)
    }

    pub(super) async fn select(&mut self, id: u32) -> Result<(), Failure> {
        self.tab(id, |_| ()).await?;
        self.room(|room| {
            room.current = Some(id);
            Ok(())
        })
        .await
    }

    pub(super) async fn close(&mut self, id: u32) -> Result<(), Failure> {
        let open = self.at(id).await?;
        self.room(|room| {
            room.forget(id);
            Ok(())
        })
        .await?;
        let closed = json!({ "targetId": open.target });
        open.speaker.ask(None, "Target.closeTarget", closed, open.deadline).await.map(drop)
    }

    pub(super) async fn close_session(&mut self) -> Result<(), Failure> {
        self.end().await;
        Ok(())
    }

    pub(super) async fn navigate(&mut self, id: u32, url: String) -> Result<wit::Started, Failure> {
        let url = self.allowed(&url)?;
        let open = self.at(id).await?;
        let page = self.tab(id, |tab| tab.page()).await?;
        let asked = open.ask_in(&open.session, "Page.navigate", json!({ "url": url }), LONG).await;
        let answer = match asked {
            Err(late) if late.reason == Reason::TimedOut => {
                open.speaker.tell(Some(&open.session), "Page.stopLoading", json!({}));
                return Err(failure(Reason::TimedOut, "the server did not answer in time"));
            }
            answer => answer?,
        };
        let error = answer["errorText"].as_str().filter(|error| !error.is_empty()).map(str::to_owned);
        Ok(wit::Started {
            download: answer["isDownload"] == true,
            same_document: error.is_none() && answer["loaderId"].is_null(),
            error,
            page,
        })
    }

    /// The address of a page that the browser may be sent to. What is let through here is checked again when the
    /// browser asks for it, together with all that it leads to.
    fn allowed(&self, url: &str) -> Result<String, Failure> {
        let shown = crate::document::excerpt(url, 200);
        let parsed = url::Url::parse(url)
            .map_err(|error| failure(Reason::InvalidArgument, format!("`{shown}` is no address: {error}")))?;
        if parsed.as_str() == "about:blank" {
            return Ok(url.to_owned());
        }
        if !matches!(parsed.scheme(), "http" | "https") {
            let why = format!("`{shown}` is not for the browser: only http and https are");
            return Err(failure(Reason::NotAllowed, why));
        }
        let host = parsed.host_str().and_then(Host::parse);
        let host = host.ok_or_else(|| failure(Reason::InvalidArgument, format!("`{shown}` names no host")))?;
        let port = parsed.port_or_known_default().unwrap_or(80);
        match self.browsers.rules.grants.reach(&host, port) {
            Reach::Public | Reach::Any => Ok(parsed.into()),
            Reach::NotGranted => {
                let why = format!("`{host}` is none of the hosts that the browser may reach");
                Err(failure(Reason::NotAllowed, why))
            }
            Reach::Private => {
                let why = format!("`{host}:{port}` is not public, and the operator has not granted it");
                Err(failure(Reason::NotAllowed, why))
            }
        }
    }

    pub(super) async fn travel(&mut self, id: u32, by: i32) -> Result<bool, Failure> {
        let open = self.at(id).await?;
        let history = open.ask("Page.getNavigationHistory", json!({})).await?;
        let current = history["currentIndex"].as_i64().unwrap_or_default();
        let wanted = usize::try_from(current + i64::from(by)).ok();
        let entry = wanted.and_then(|wanted| history["entries"].get(wanted)?["id"].as_i64());
        let Some(entry) = entry else { return Ok(false) };
        open.ask("Page.navigateToHistoryEntry", json!({ "entryId": entry })).await?;
        Ok(true)
    }

    pub(super) async fn state(&mut self, id: u32) -> Result<TabState, Failure> {
        self.tab(id, |tab| tab.state()).await
    }

    pub(super) async fn title(&mut self, id: u32) -> Result<String, Failure> {
        let open = self.at(id).await?;
        let (known, is_there) = self.tab(id, |tab| (tab.title.clone(), tab.is_read())).await?;
        if !is_there {
            return Ok(known);
        }
        let asked =
            json!({ "expression": "document.title", "returnByValue": true, "timeout": FRAME.as_millis() as u64 });
        let told = open.ask_in(&open.session, "Runtime.evaluate", asked, FRAME).await;
        let told = told.ok().and_then(|told| told["result"]["value"].as_str().map(str::to_owned));
        Ok(told.map_or(known, |told| crate::document::excerpt(&told, 1000)))
    }

    pub(super) async fn wait(&mut self, id: u32, milliseconds: u32) -> Result<bool, Failure> {
        let mut changes = self.tab(id, |tab| tab.changes()).await?;
        let until = (Instant::now() + WAIT.min(Duration::from_millis(milliseconds.into()))).min(self.deadline);
        // A tab that was closed has changed too.
        Ok(tokio::time::timeout_at(until.into(), changes.changed()).await.is_ok())
    }

    pub(super) async fn stop(&mut self, id: u32) -> Result<(), Failure> {
        let open = self.at(id).await?;
        open.speaker.tell(Some(&open.session), "Page.stopLoading", json!({}));
        open.speaker.tell(Some(&open.session), "Runtime.terminateExecution", json!({}));
        Ok(())
    }

    pub(super) async fn frames(&mut self, id: u32) -> Result<Vec<wit::Frame>, Failure> {
        let open = self.at(id).await?;
        let tree = open.ask("Page.getFrameTree", json!({})).await?;
        let mut found = Vec::new();
        flatten(&tree["frameTree"], &open.session, &mut found);
        let parts = self.tab(id, |tab| tab.parts.clone()).await?;
        for (frame, part) in parts.into_iter().take(FRAMES) {
            match open.ask_in(&part.session, "Page.getFrameTree", json!({}), FRAME).await {
                Ok(tree) => flatten(&tree["frameTree"], &part.session, &mut found),
                // One that does not answer is still named.
                Err(_) => found.push(Found {
                    frame,
                    parent: None,
                    loader: String::new(),
                    url: part.url,
                    session: part.session,
                }),
            }
        }
        found.truncate(FRAMES);
        let mut owners = Vec::new();
        for (at, one) in found.iter().enumerate() {
            owners.push(if at == 0 { None } else { owner(&open, one, &found).await });
        }
        self.room(|room| {
            let documents: Vec<u32> = found.iter().map(|one| room.document(&one.frame, &one.loader)).collect();
            let tab = room.tabs.get_mut(&id).ok_or_else(|| failure(Reason::NoSuchTab, "the tab was closed"))?;
            let frame = |(at, one): (usize, &Found)| {
                tab.set_loader(&one.frame, &one.loader, &one.session);
                let parent =
                    one.parent.as_ref().and_then(|parent| found.iter().position(|known| known.frame == *parent));
                wit::Frame {
                    document: documents[at],
                    parent: if at == 0 { None } else { Some(parent.map_or(documents[0], |parent| documents[parent])) },
                    owner: owners[at],
                    url: one.url.clone(),
                    loading: one.loader.is_empty() || tab.is_loading(&one.frame),
                }
            };
            Ok(found.iter().enumerate().map(frame).collect())
        })
        .await
    }

    /// The session and frame of a document that is still shown.
    pub(super) async fn place(&mut self, id: u32, document: u32) -> Result<(String, String), Failure> {
        self.room(|room| {
            let gone = || failure(Reason::Gone, "the page has changed: what was named is not on it any more");
            let (frame, loader) = room.place(document).ok_or_else(gone)?;
            let tab =
                room.tabs.get(&id).ok_or_else(|| failure(Reason::NoSuchTab, format!("no tab has the number {id}")))?;
            match tab.loader(frame) == Some(loader) {
                true => Ok((tab.session_of(frame).to_owned(), frame.clone())),
                false => Err(gone()),
            }
        })
        .await
    }

    pub(super) async fn accessibility(&mut self, id: u32, document: u32) -> Result<Vec<wit::Node>, Failure> {
        let open = self.at(id).await?;
        let (session, frame) = self.place(id, document).await?;
        let tree = open.ask_in(&session, "Accessibility.getFullAXTree", json!({ "frameId": frame }), ANSWER).await?;
        Ok(super::script::outline(&tree, NODES))
    }

    pub(super) async fn locate(&mut self, id: u32, document: u32, element: u64) -> Result<wit::Point, Failure> {
        let open = self.at(id).await?;
        let (session, frame) = self.place(id, document).await?;
        let quad = self.quad(&open, &session, element).await?;
        let (x, y) = middle(&quad).ok_or_else(|| unreachable("it has no size"))?;
        let (left, top) = self.offset(&open, id, &session, &frame).await?;
        Ok(wit::Point { x: x + left, y: y + top })
    }

    async fn quad(&mut self, open: &Open, session: &str, element: u64) -> Result<Vec<f64>, Failure> {
        let node = json!({ "backendNodeId": element });
        let hidden =
            |error: Failure| match error.message.contains("layout object") || error.message.contains("not visible") {
                true => unreachable("it is not shown"),
                false => in_element(error),
            };
        open.ask_in(session, "DOM.scrollIntoViewIfNeeded", node.clone(), ANSWER).await.map_err(hidden)?;
        let quads = open.ask_in(session, "DOM.getContentQuads", node, ANSWER).await.map_err(|error| {
            match error.message.contains("compute") {
                true => unreachable("it is not shown"),
                false => hidden(error),
            }
        })?;
        let quads = quads["quads"].as_array().into_iter().flatten();
        let numbers =
            |quad: &Value| quad.as_array().into_iter().flatten().filter_map(Value::as_f64).collect::<Vec<_>>();
        quads.map(numbers).find(|quad| middle(quad).is_some()).ok_or_else(|| unreachable("it has no size"))
    }

    /// Where the view of a process of its own begins within the tab's.
    async fn offset(&mut self, open: &Open, id: u32, session: &str, frame: &str) -> Result<(f64, f64), Failure> {
        let (mut left, mut top) = (0.0, 0.0);
        let mut session = session.to_owned();
        let mut frame = frame.to_owned();
        while session != open.session {
            let root = self.tab(id, |tab| {
                tab.parts.iter().find(|(_, part)| part.session == session).map(|(root, _)| root.clone())
            });
            frame = root.await?.unwrap_or(frame);
            let tree = open.ask_in(&session, "Page.getFrameTree", json!({}), FRAME).await?;
            let parent = text(&tree["frameTree"]["frame"]["parentId"]).to_owned();
            let outer = self.tab(id, |tab| tab.session_of(&parent).to_owned()).await?;
            if outer == session {
                break;
            }
            let owner = open.ask_in(&outer, "DOM.getFrameOwner", json!({ "frameId": frame }), FRAME).await?;
            let node = json!({ "backendNodeId": owner["backendNodeId"] });
            let model = open.ask_in(&outer, "DOM.getBoxModel", node, FRAME).await?;
            left += model["model"]["content"][0].as_f64().unwrap_or_default();
            top += model["model"]["content"][1].as_f64().unwrap_or_default();
            (session, frame) = (outer, parent);
        }
        Ok((left, top))
    }

    pub(super) async fn click(&mut self, id: u32, at: wit::Point, times: u32) -> Result<(), Failure> {
        self.point_at(id, at).await?;
        let open = self.at(id).await?;
        for count in 1..=times.clamp(1, CLICKS) {
            for kind in ["mousePressed", "mouseReleased"] {
                let pressed = json!({ "type": kind, "x": at.x, "y": at.y, "button": "left", "clickCount": count });
                open.ask("Input.dispatchMouseEvent", pressed).await?;
            }
        }
        Ok(())
    }

    pub(super) async fn point_at(&mut self, id: u32, at: wit::Point) -> Result<(), Failure> {
        let open = self.at(id).await?;
        let moved = json!({ "type": "mouseMoved", "x": at.x, "y": at.y });
        open.ask("Input.dispatchMouseEvent", moved).await.map(drop)
    }

    pub(super) async fn press(&mut self, id: u32, key: wit::Key) -> Result<(), Failure> {
        let open = self.at(id).await?;
        let mut event = json!({
            "type": if key.text.is_empty() { "rawKeyDown" } else { "keyDown" },
            "key": key.key, "code": key.code, "windowsVirtualKeyCode": key.number, "modifiers": key.modifiers,
        });
        if !key.text.is_empty() {
            event["text"] = key.text.as_str().into();
        }
        open.ask("Input.dispatchKeyEvent", event.clone()).await?;
        event["type"] = "keyUp".into();
        if let Some(event) = event.as_object_mut() {
            event.remove("text");
        }
        open.ask("Input.dispatchKeyEvent", event).await.map(drop)
    }

    pub(super) async fn insert(&mut self, id: u32, text: String) -> Result<(), Failure> {
        let open = self.at(id).await?;
        open.ask("Input.insertText", json!({ "text": text })).await.map(drop)
    }

    pub(super) async fn screenshot(&mut self, id: u32, picture: wit::Picture) -> Result<wit::Image, Failure> {
        let open = self.at(id).await?;
        let mut cut = false;
        let mut params = json!({ "format": "png" });
        match picture {
            wit::Picture::View => {}
            wit::Picture::Whole => {
                let size = open.ask("Page.getLayoutMetrics", json!({})).await?;
                let number = |name: &str| size["cssContentSize"][name].as_f64().unwrap_or(1.0).max(1.0);
                let (width, height) = (number("width"), number("height"));
                cut = height > TALLEST || width > TALLEST;
                params["captureBeyondViewport"] = true.into();
                params["clip"] =
                    json!({ "x": 0, "y": 0, "width": width.min(TALLEST), "height": height.min(TALLEST), "scale": 1 });
            }
            wit::Picture::Element((document, element)) => {
                let (session, frame) = self.place(id, document).await?;
                let quad = self.quad(&open, &session, element).await?;
                let (left, top) = self.offset(&open, id, &session, &frame).await?;
                let (x, y, width, height) = bounds(&quad);
                params["clip"] = json!({ "x": x + left, "y": y + top, "width": width.min(TALLEST), "height": height.min(TALLEST), "scale": 1 });
            }
        }
        let taken = open.ask("Page.captureScreenshot", params).await?;
        let data = base64::engine::general_purpose::STANDARD.decode(text(&taken["data"]));
        let data = data.map_err(|_| failure(Reason::Refused, "the browser gave no picture"))?;
        match data.len() > PICTURE {
            true => {
                Err(failure(Reason::TooLarge, format!("the picture has {} bytes, more than {PICTURE}", data.len())))
            }
            false => Ok(wit::Image { data, cut }),
        }
    }

    pub(super) async fn events(&mut self, id: u32) -> Result<Vec<Event>, Failure> {
        self.room(|room| {
            let mut events = room.tabs.get_mut(&id).map(|tab| tab.news.take()).unwrap_or_default();
            events.extend(room.news.take());
            Ok(events)
        })
        .await
    }

    pub(super) async fn ready(&mut self) -> Result<(), Failure> {
        launch::program(&self.browsers.settings).map(drop)
    }
}

fn unreachable(why: &str) -> Failure {
    failure(Reason::ElementUnreachable, format!("the element cannot be reached: {why}"))
}

/// The middle of a quadrilateral that has a size.
fn middle(quad: &[f64]) -> Option<(f64, f64)> {
    let (x, y, width, height) = bounds(quad);
    (quad.len() == 8 && width >= 1.0 && height >= 1.0).then(|| (x + width / 2.0, y + height / 2.0))
}

/// Left, top, width and height.
fn bounds(quad: &[f64]) -> (f64, f64, f64, f64) {
    let side = |from: usize| quad.iter().skip(from).step_by(2).copied();
    let least = |from: usize| side(from).fold(f64::INFINITY, f64::min);
    let most = |from: usize| side(from).fold(f64::NEG_INFINITY, f64::max);
    (least(0), least(1), most(0) - least(0), most(1) - least(1))
}

/// One frame as the browser tells of it.
struct Found {
    frame: String,
    parent: Option<String>,
    loader: String,
    url: String,
    session: String,
}

fn flatten(tree: &Value, session: &str, found: &mut Vec<Found>) {
    let mut open = vec![tree];
    while let Some(tree) = open.pop() {
        let frame = &tree["frame"];
        let fragment = text(&frame["urlFragment"]);
        found.push(Found {
            frame: text(&frame["id"]).to_owned(),
            parent: frame["parentId"].as_str().map(str::to_owned),
            loader: text(&frame["loaderId"]).to_owned(),
            url: format!("{}{fragment}", text(&frame["url"])),
            session: session.to_owned(),
        });
        if found.len() > FRAMES {
            return;
        }
        open.extend(tree["childFrames"].as_array().into_iter().flatten().rev());
    }
}

/// The element that shows a frame.
async fn owner(open: &Open, one: &Found, all: &[Found]) -> Option<u64> {
    let parent = one.parent.as_ref().and_then(|parent| all.iter().find(|known| known.frame == *parent));
    let session = parent.map_or(&open.session, |parent| &parent.session);
    let owner = open.ask_in(session, "DOM.getFrameOwner", json!({ "frameId": one.frame }), FRAME).await.ok()?;
    owner["backendNodeId"].as_u64()
}

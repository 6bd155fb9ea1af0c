//! Which documents does a tab show, and what does each say to assistive technology? Frames in processes of their own
//! are asked there.

use super::page::{ANSWER, FRAME, Open};
use super::{Failure, Reason, Tabs, failure, outline, wit};
use chromiumoxide::cdp::browser_protocol::accessibility::GetFullAxTreeParams;
use chromiumoxide::cdp::browser_protocol::dom::GetFrameOwnerParams;
use chromiumoxide::cdp::browser_protocol::page::{FrameId, GetFrameTreeParams};
use serde::Deserialize;

/// Documents of one tab that are looked at.
const FRAMES: usize = 200;
/// Nodes of one document.
const NODES: usize = 50_000;

impl Tabs {
    pub(super) async fn frames(&mut self, id: u32) -> Result<Vec<wit::Frame>, Failure> {
        let open = self.at(id).await?;
        let mut found = Vec::new();
        flatten(tree(&open, &open.session).await?, &open.session, &mut found);
        let parts = self.tab(id, |tab| tab.parts.clone()).await?;
        for (frame, part) in parts.into_iter().take(FRAMES) {
            match tree(&open, &part.session).await {
                Ok(tree) => flatten(tree, &part.session, &mut found),
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
        let wanted = GetFullAxTreeParams { frame_id: Some(FrameId::new(frame)), depth: None };
        let tree: outline::Tree = open.ask_for(&session, wanted, ANSWER).await?;
        Ok(outline::outline(tree, NODES))
    }
}

/// One frame as the browser tells of it.
struct Found {
    frame: String,
    parent: Option<String>,
    loader: String,
    url: String,
    session: String,
}

/// What is of interest of the browser's frames. It says more of them, with words that change from one version to the
/// next.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answered {
    frame_tree: Tree,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Tree {
    frame: Frame,
    #[serde(default)]
    child_frames: Vec<Tree>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Frame {
    id: String,
    parent_id: Option<String>,
    #[serde(default)]
    loader_id: String,
    #[serde(default)]
    url: String,
    #[serde(default)]
    url_fragment: String,
}

/// The frames that live in one process.
pub(super) async fn root_parent(open: &Open, session: &str) -> Result<Option<String>, Failure> {
    Ok(tree(open, session).await?.frame.parent_id)
}

async fn tree(open: &Open, session: &str) -> Result<Tree, Failure> {
    // Its own is asked with more patience: without it there is nothing to tell.
    let most = if session == open.session { ANSWER } else { FRAME };
    let answered: Answered = open.ask_for(session, GetFrameTreeParams::default(), most).await?;
    Ok(answered.frame_tree)
}

fn flatten(tree: Tree, session: &str, found: &mut Vec<Found>) {
    let mut open = vec![tree];
    while let Some(Tree { frame, child_frames }) = open.pop() {
        found.push(Found {
            frame: frame.id,
            parent: frame.parent_id,
            loader: frame.loader_id,
            url: frame.url + &frame.url_fragment,
            session: session.to_owned(),
        });
        if found.len() > FRAMES {
            return;
        }
        open.extend(child_frames.into_iter().rev());
    }
}

/// The element that shows a frame.
async fn owner(open: &Open, one: &Found, all: &[Found]) -> Option<u64> {
    let parent = one.parent.as_ref().and_then(|parent| all.iter().find(|known| known.frame == *parent));
    let session = parent.map_or(&open.session, |parent| &parent.session);
    let owner = open.ask_in(session, GetFrameOwnerParams::new(FrameId::new(&*one.frame)), FRAME).await.ok()?;
    u64::try_from(*owner.backend_node_id.inner()).ok()
}

//! Where on a page is an element, and how is it pressed and typed into?

use super::frames::root_parent;
use super::page::{ANSWER, FRAME, Open, in_element};
use super::{Failure, Reason, Tabs, failure, wit};
use chromiumoxide::cdp::browser_protocol::dom::{
    BackendNodeId, GetBoxModelParams, GetContentQuadsParams, GetFrameOwnerParams, ScrollIntoViewIfNeededParams,
};
use chromiumoxide::cdp::browser_protocol::input::{
    DispatchKeyEventParams, DispatchKeyEventType, DispatchMouseEventParams, DispatchMouseEventType, InsertTextParams,
    MouseButton,
};
use chromiumoxide::cdp::browser_protocol::page::FrameId;

/// Most clicks at once.
const CLICKS: u32 = 3;

/// An element as the browser numbers it.
pub(super) fn numbered(element: u64) -> Option<BackendNodeId> {
    i64::try_from(element).ok().map(BackendNodeId::new)
}

impl Tabs {
    pub(super) async fn locate(&mut self, id: u32, document: u32, element: u64) -> Result<wit::Point, Failure> {
        let open = self.at(id).await?;
        let (session, frame) = self.place(id, document).await?;
        let quad = self.quad(&open, &session, element).await?;
        let (x, y) = middle(&quad).ok_or_else(|| unreachable("it has no size"))?;
        let (left, top) = self.offset(&open, id, &session, &frame).await?;
        Ok(wit::Point { x: x + left, y: y + top })
    }

    /// The four corners of an element, once it is in view.
    pub(super) async fn quad(&mut self, open: &Open, session: &str, element: u64) -> Result<Vec<f64>, Failure> {
        let backend_node_id = numbered(element);
        let hidden =
            |error: Failure| match error.message.contains("layout object") || error.message.contains("not visible") {
                true => unreachable("it is not shown"),
                false => in_element(error),
            };
        let shown = ScrollIntoViewIfNeededParams { backend_node_id, ..Default::default() };
        open.ask_in(session, shown, ANSWER).await.map_err(hidden)?;
        let asked = GetContentQuadsParams { backend_node_id, ..Default::default() };
        let found =
            open.ask_in(session, asked, ANSWER).await.map_err(|error| match error.message.contains("compute") {
                true => unreachable("it is not shown"),
                false => hidden(error),
            })?;
        let quads = found.quads.iter().map(|quad| quad.inner().clone());
        quads.into_iter().find(|quad| middle(quad).is_some()).ok_or_else(|| unreachable("it has no size"))
    }

    /// Where the view of a process of its own begins within the tab's.
    pub(super) async fn offset(
        &mut self,
        open: &Open,
        id: u32,
        session: &str,
        frame: &str,
    ) -> Result<(f64, f64), Failure> {
        let (mut left, mut top) = (0.0, 0.0);
        let mut session = session.to_owned();
        let mut frame = frame.to_owned();
        while session != open.session {
            let root = self.tab(id, |tab| {
                tab.parts.iter().find(|(_, part)| part.session == session).map(|(root, _)| root.clone())
            });
            frame = root.await?.unwrap_or(frame);
            let parent = root_parent(open, &session).await?.unwrap_or_default();
            let outer = self.tab(id, |tab| tab.session_of(&parent).to_owned()).await?;
            if outer == session {
                break;
            }
            let owner = open.ask_in(&outer, GetFrameOwnerParams::new(FrameId::new(&*frame)), FRAME).await?;
            let asked = GetBoxModelParams { backend_node_id: Some(owner.backend_node_id), ..Default::default() };
            let model = open.ask_in(&outer, asked, FRAME).await?.model;
            if let [x, y, ..] = model.content.inner()[..] {
                left += x;
                top += y;
            }
            (session, frame) = (outer, parent);
        }
        Ok((left, top))
    }

    pub(super) async fn click(&mut self, id: u32, at: wit::Point, times: u32) -> Result<(), Failure> {
        self.point_at(id, at).await?;
        let open = self.at(id).await?;
        for count in 1..=times.clamp(1, CLICKS) {
            for kind in [DispatchMouseEventType::MousePressed, DispatchMouseEventType::MouseReleased] {
                let pressed = DispatchMouseEventParams {
                    button: Some(MouseButton::Left),
                    click_count: Some(count.into()),
                    ..DispatchMouseEventParams::new(kind, at.x, at.y)
                };
                open.ask(pressed).await?;
            }
        }
        Ok(())
    }

    pub(super) async fn point_at(&mut self, id: u32, at: wit::Point) -> Result<(), Failure> {
        let open = self.at(id).await?;
        open.ask(DispatchMouseEventParams::new(DispatchMouseEventType::MouseMoved, at.x, at.y)).await.map(drop)
    }

    pub(super) async fn press(&mut self, id: u32, key: wit::Key) -> Result<(), Failure> {
        let open = self.at(id).await?;
        let down = if key.text.is_empty() { DispatchKeyEventType::RawKeyDown } else { DispatchKeyEventType::KeyDown };
        let event = DispatchKeyEventParams {
            key: Some(key.key),
            code: Some(key.code),
            windows_virtual_key_code: Some(key.number.into()),
            modifiers: Some(key.modifiers.into()),
            ..DispatchKeyEventParams::new(DispatchKeyEventType::KeyUp)
        };
        let text = Some(key.text).filter(|text| !text.is_empty());
        open.ask(DispatchKeyEventParams { r#type: down, text, ..event.clone() }).await?;
        open.ask(event).await.map(drop)
    }

    pub(super) async fn insert(&mut self, id: u32, text: String) -> Result<(), Failure> {
        let open = self.at(id).await?;
        open.ask(InsertTextParams::new(text)).await.map(drop)
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
pub(super) fn bounds(quad: &[f64]) -> (f64, f64, f64, f64) {
    let side = |from: usize| quad.iter().skip(from).step_by(2).copied();
    let least = |from: usize| side(from).fold(f64::INFINITY, f64::min);
    let most = |from: usize| side(from).fold(f64::NEG_INFINITY, f64::max);
    (least(0), least(1), most(0) - least(0), most(1) - least(1))
}

//! What does a reference stand for? `d3e12` is element 12 of document 3. Both numbers are the host's, so a reference
//! stays good as long as the element does, over snapshots, and never comes to mean another element.

use crate::bindings::exports::hermes::tool::tool_execution::Error;
use crate::bindings::hermes::tool::browser::{self, Frame, Node, Point, Realm};
use crate::failure;

/// How many references are offered in place of one that is not good.
const NEAR: usize = 5;

/// An element of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reference {
    pub(crate) document: u32,
    pub(crate) element: u64,
}

impl Reference {
    pub(crate) fn of(document: u32, element: u64) -> Reference {
        Reference { document, element }
    }

    /// Reads a reference as a snapshot shows it.
    pub(crate) fn parse(text: &str) -> Option<Reference> {
        let (document, element) = text.trim().strip_prefix('d')?.split_once('e')?;
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(document) || !digits(element) {
            return None;
        }
        Some(Reference { document: document.parse().ok()?, element: element.parse().ok()? })
    }
}

impl std::fmt::Display for Reference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "d{}e{}", self.document, self.element)
    }
}

/// The element that a reference stands for, on a page that still shows its document.
pub(crate) fn find(tab: u32, text: &str) -> Result<Reference, Error> {
    let frames = browser::frames(tab).map_err(failure::of)?;
    let reference = Reference::parse(text);
    match reference.filter(|reference| frames.iter().any(|frame| frame.document == reference.document)) {
        Some(reference) => Ok(reference),
        None => {
            let why = if reference.is_some() { "is of a page that is not shown any more" } else { "is no reference" };
            Err(unreachable(tab, text, why, &frames))
        }
    }
}

/// The error for an element that is not there, with those that are.
pub(crate) fn gone(tab: u32, text: &str, why: &str) -> Error {
    unreachable(tab, text, why, &browser::frames(tab).unwrap_or_default())
}

fn unreachable(tab: u32, text: &str, why: &str, frames: &[Frame]) -> Error {
    let shown: String = text.chars().take(40).collect();
    let near = near(tab, text, frames);
    let hint = match near.is_empty() {
        true => "take a snapshot with browser_snapshot and use a reference from it".to_owned(),
        false => format!("take a new snapshot; references on this page are {}, …", near.join(", ")),
    };
    failure::failed("element_unreachable", format!("`{shown}` {why}"), Some(&hint))
}

/// The references nearest to one that is not good, with what they stand for.
fn near(tab: u32, text: &str, frames: &[Frame]) -> Vec<String> {
    let Some(frame) = frames.first() else { return Vec::new() };
    let nodes = browser::accessibility(tab, frame.document).unwrap_or_default();
    let wanted = Reference::parse(text).map_or(0, |reference| reference.element);
    let usable = |node: &Node| {
        let element = node.element.filter(|_| crate::outline::is_interactive(&node.role))?;
        let name: String = node.name.chars().take(40).collect();
        Some((
            element.abs_diff(wanted),
            format!("{} ({} \"{name}\")", Reference::of(frame.document, element), node.role),
        ))
    };
    let mut found: Vec<(u64, String)> = nodes.iter().filter_map(usable).collect();
    found.sort_by_key(|(distance, _)| *distance);
    found.into_iter().take(NEAR).map(|(_, shown)| shown).collect()
}

/// Calls a function of ours on an element, beside the page's scripts.
pub(crate) fn ask(
    tab: u32,
    element: Reference,
    function: &str,
    arguments: &serde_json::Value,
) -> Result<serde_json::Value, Error> {
    let Reference { document, element } = element;
    let answer = browser::evaluate(tab, document, Some(element), Realm::Apart, function, &arguments.to_string());
    let answer = answer.map_err(|problem| match problem.reason {
        browser::Reason::Gone => {
            gone(tab, &Reference::of(document, element).to_string(), "is not on the page any more")
        }
        _ => failure::of(problem),
    })?;
    Ok(serde_json::from_str(&answer).unwrap_or_default())
}

/// Says what keeps an element from being used, and what lies over its middle. Its own parts do not count, nor does a
/// label that leads to it.
const OBSTACLE: &str = "function () {
  if (!this.isConnected) return 'it is not on the page any more';
  if (this.disabled || this.getAttribute?.('aria-disabled') === 'true') return 'it is disabled';
  const target = this.nodeType === 1 ? this : this.parentElement;
  if (!target) return 'it is the page itself';
  const box = target.getBoundingClientRect();
  if (box.width < 1 || box.height < 1) return '';
  const x = box.left + box.width / 2, y = box.top + box.height / 2;
  let over = target.ownerDocument.elementFromPoint(x, y);
  while (over && over.shadowRoot) {
    const inner = over.shadowRoot.elementFromPoint(x, y);
    if (!inner || inner === over) break;
    over = inner;
  }
  if (!over) return '';
  for (let part = over; part; part = part.parentNode || part.host) {
    if (part === target || (part.control && part.control === target)) return '';
  }
  for (let part = target; part; part = part.parentNode || part.host) if (part === over) return '';
  const name = (over.getAttribute('aria-label') || over.id || over.className || '').toString().slice(0, 60);
  return 'it lies beneath <' + over.localName + '>' + (name ? ' ' + name : '');
}";

/// Brings an element into view and says where to press, if nothing is in the way.
pub(crate) fn reach(tab: u32, text: &str) -> Result<(Reference, Point), Error> {
    let reference = find(tab, text)?;
    let point =
        browser::locate(tab, reference.document, reference.element).map_err(|problem| match problem.reason {
            browser::Reason::Gone => gone(tab, text, "is not on the page any more"),
            _ => failure::of(problem),
        })?;
    let obstacle = ask(tab, reference, OBSTACLE, &serde_json::json!([]))?;
    match obstacle.as_str().unwrap_or_default() {
        "" => Ok((reference, point)),
        why => Err(failure::failed(
            "element_unreachable",
            format!("`{reference}` cannot be pressed: {why}"),
            Some("deal with what is in the way first, such as a dialog or a banner, or wait until it can be used"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_read_as_they_are_shown() {
        let reference = Reference::of(3, 12);
        assert_eq!(Reference::parse(&reference.to_string()), Some(reference));
        assert_eq!(Reference::parse(" d3e12 "), Some(reference));
        for bad in ["", "e12", "d3", "de", "d3e", "d-1e2", "d3e12x", "d99999999999e1", "#button"] {
            assert_eq!(Reference::parse(bad), None, "{bad}");
        }
    }
}

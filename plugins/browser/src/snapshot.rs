//! What does a page show? Its outline with references, frames and shadow roots included, within a budget; or a picture.

use serde::Deserialize;
use serde_json::json;

use crate::bindings::exports::hermes::tool::tool_execution::{Error, Output};
use crate::bindings::hermes::tool::browser::{self, Picture, Realm, Reason};
use crate::bindings::hermes::tool::types::{Blob, Content};
use crate::element;
use crate::outline::{self, Document};
use crate::report::{self, News};
use crate::{failure, relevance, tabs};

/// Bytes of an outline, somewhat less than the result's budget of 8,000 tokens.
const BUDGET: usize = 24_000;
/// What a page says whose outline is too large to be read: its text, so many characters of it.
const TEXT: &str = "function (most) { return (this.document.body?.innerText || '').slice(0, most); }";

#[derive(Deserialize)]
pub(crate) struct Snapshot {
    tab: Option<u32>,
    #[serde(rename = "ref")]
    reference: Option<String>,
}

#[derive(Deserialize)]
pub(crate) struct Screenshot {
    tab: Option<u32>,
    #[serde(rename = "ref")]
    reference: Option<String>,
    #[serde(default)]
    whole_page: bool,
}

/// Takes the outline of a page or of a part of it.
pub(crate) fn take(args: &Snapshot, task: Option<&str>) -> Result<Output, Error> {
    let tab = tabs::meant(args.tab)?;
    let wanted = match &args.reference {
        Some(text) => Some(element::find(tab, text)?),
        None => None,
    };
    let documents = read(tab)?;
    let lines = match wanted {
        None => outline::lines(&documents),
        Some(reference) => outline::lines_of(&documents, reference)
            .ok_or_else(|| element::gone(tab, &reference.to_string(), "shows nothing that could be read"))?,
    };
    let cut = relevance::cut(&lines, task, BUDGET);
    let state = browser::state(tab).map_err(failure::of)?;
    let mut facts = json!({});
    let unread: Vec<&str> = documents
        .iter()
        .filter(|document| document.nodes.is_err())
        .map(|document| document.frame.url.as_str())
        .collect();
    if !unread.is_empty() {
        facts["unread_frames"] = unread.into();
    }
    if cut.omitted > 0 {
        facts["truncated"] = true.into();
        facts["omitted_lines"] = cut.omitted.into();
        facts["more"] = "give `ref` to see one part whole".into();
    }
    Ok(report::output(tab, &state, facts, News::of(tab)?, vec![Content::Text(cut.text)]))
}

/// Reads all documents of a tab. Its own has to be there; a frame that cannot be read is said to be so.
fn read(tab: u32) -> Result<Vec<Document>, Error> {
    let mut documents = Vec::new();
    for frame in browser::frames(tab).map_err(failure::of)? {
        let nodes = match browser::accessibility(tab, frame.document) {
            Ok(nodes) => Ok(nodes),
            Err(problem) if documents.is_empty() && problem.reason == Reason::TooLarge => {
                return Ok(vec![Document { nodes: Err(text_of(tab, frame.document)?), frame }]);
            }
            Err(problem) if documents.is_empty() => return Err(failure::of(problem)),
            Err(problem) => Err(problem.message),
        };
        documents.push(Document { frame, nodes });
    }
    Ok(documents)
}

fn text_of(tab: u32, document: u32) -> Result<String, Error> {
    let arguments = json!([BUDGET / 2]).to_string();
    let text = browser::evaluate(tab, document, None, Realm::Apart, TEXT, &arguments).map_err(failure::of)?;
    let text: String = serde_json::from_str(&text).unwrap_or_default();
    Ok(format!("it is too large; its text begins with {text}"))
}

/// Takes a picture.
pub(crate) fn picture(args: &Screenshot) -> Result<Output, Error> {
    let tab = tabs::meant(args.tab)?;
    let picture = match &args.reference {
        Some(text) => {
            let reference = element::find(tab, text)?;
            Picture::Element((reference.document, reference.element))
        }
        None if args.whole_page => Picture::Whole,
        None => Picture::View,
    };
    let image = browser::screenshot(tab, picture).map_err(|problem| match (&args.reference, problem.reason) {
        (Some(text), Reason::Gone) => element::gone(tab, text, "is not on the page any more"),
        _ => failure::of(problem),
    })?;
    let state = browser::state(tab).map_err(failure::of)?;
    let facts = if image.cut { json!({ "cut": "the page is larger than one picture" }) } else { json!({}) };
    let blob = Blob { data: image.data, media_type: "image/png".into() };
    Ok(report::output(tab, &state, facts, News::of(tab)?, vec![Content::Binary(blob)]))
}

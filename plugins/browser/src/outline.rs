//! How is a page shown to an agent? As lines, each one thing with its role, name and reference, indented by what
//! contains it; frames stand where they are shown. Pure.

use std::collections::HashMap;

use crate::bindings::hermes::tool::browser::{Frame, Node};
use crate::element::Reference;

/// Longest text of one line, in characters.
const TEXT: usize = 400;
/// Deepest indentation; what is deeper stands beneath it.
const DEEPEST: usize = 20;

/// One line and what it takes to judge it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) level: usize,
    pub(crate) text: String,
    /// Whether something can be done with it.
    pub(crate) interactive: bool,
    /// Whether it says what a part of the page is about.
    pub(crate) landmark: bool,
}

/// One document with what it shows; nothing if it could not be read.
pub(crate) struct Document {
    pub(crate) frame: Frame,
    pub(crate) nodes: Result<Vec<Node>, String>,
}

/// Roles of things that can be used.
const INTERACTIVE: &[&str] = &[
    "button",
    "link",
    "textbox",
    "searchbox",
    "checkbox",
    "radio",
    "combobox",
    "listbox",
    "option",
    "menuitem",
    "menuitemcheckbox",
    "menuitemradio",
    "tab",
    "switch",
    "slider",
    "spinbutton",
    "treeitem",
    "gridcell",
    "DisclosureTriangle",
    "PopUpButton",
    "MenuListOption",
    "ComboBoxSelect",
    "ComboBoxMenuButton",
    "Date",
    "DateTime",
    "ColorWell",
    "InputTime",
];
/// Roles that say what follows is about.
const LANDMARKS: &[&str] = &[
    "heading",
    "main",
    "navigation",
    "form",
    "dialog",
    "alertdialog",
    "alert",
    "search",
    "status",
    "banner",
    "Iframe",
];
/// Roles that add nothing to what is in them.
const TRANSPARENT: &[&str] = &["generic", "none", "presentation", "LayoutTable", "LayoutTableRow", "LayoutTableCell"];
/// Roles that are never shown: the pieces of a text.
const PIECES: &[&str] = &["InlineTextBox", "LineBreak", "ListMarker"];

/// Whether something can be done with a thing of this role.
pub(crate) fn is_interactive(role: &str) -> bool {
    INTERACTIVE.contains(&role)
}

/// The lines of a page: its own document, and those of frames where they are shown.
pub(crate) fn lines(documents: &[Document]) -> Vec<Line> {
    let mut out = Vec::new();
    if let Some(first) = documents.first() {
        document(first, documents, 0, &mut out);
    }
    out
}

/// The lines of what lies within one element.
pub(crate) fn lines_of(documents: &[Document], wanted: Reference) -> Option<Vec<Line>> {
    let found = documents.iter().find(|document| document.frame.document == wanted.document)?;
    let nodes = found.nodes.as_ref().ok()?;
    let from = nodes.iter().position(|node| node.element == Some(wanted.element))?;
    let level = nodes[from].level;
    let to =
        nodes[from + 1..].iter().position(|node| node.level <= level).map_or(nodes.len(), |count| from + 1 + count);
    let mut out = Vec::new();
    part(&nodes[from..to], found.frame.document, documents, 0, &mut out);
    Some(out)
}

fn document(shown: &Document, all: &[Document], base: usize, out: &mut Vec<Line>) {
    match &shown.nodes {
        Ok(nodes) => part(nodes, shown.frame.document, all, base, out),
        Err(why) => out.push(Line {
            level: base,
            text: format!("(could not be read: {why})"),
            interactive: false,
            landmark: true,
        }),
    }
}

/// What the levels above a line are called, and at which indentation they stand.
struct Above {
    level: u32,
    shown: usize,
    name: String,
}

fn part(nodes: &[Node], number: u32, all: &[Document], base: usize, out: &mut Vec<Line>) {
    let owners: HashMap<u64, &Document> = all
        .iter()
        .filter(|document| document.frame.parent == Some(number))
        .filter_map(|document| Some((document.frame.owner?, document)))
        .collect();
    let mut above: Vec<Above> = Vec::new();
    for node in nodes {
        while above.last().is_some_and(|last| last.level >= node.level) {
            above.pop();
        }
        let (indent, over) = above.last().map_or((base, ""), |last| (last.shown, last.name.as_str()));
        let inner = node.element.and_then(|element| owners.get(&element));
        if PIECES.contains(&node.role.as_str()) {
            continue;
        }
        let shown = line(node, number, over);
        let is_shown = shown.is_some();
        let level = indent.min(DEEPEST);
        if let Some((text, interactive)) = shown {
            let landmark = LANDMARKS.contains(&node.role.as_str());
            out.push(Line { level, text, interactive, landmark });
        }
        if let Some(inner) = inner {
            document(inner, all, level + 1, out);
        }
        let name = if is_shown && !node.name.is_empty() { node.name.clone() } else { over.to_owned() };
        above.push(Above { level: node.level, shown: indent + usize::from(is_shown), name });
    }
}

/// The text of a line, and whether something can be done with it; none for what says nothing.
fn line(node: &Node, document: u32, over: &str) -> Option<(String, bool)> {
    let name = one_line(&node.name);
    if node.role == "StaticText" {
        // A name that was made of this text has said it.
        let is_said = name.is_empty() || one_line(over).contains(&name);
        return (!is_said).then(|| (format!("- {name}"), false));
    }
    if node.role == "RootWebArea" {
        return None;
    }
    // What a field is made of inside is editable too.
    let is_inside = node.role == "generic" && node.name.is_empty() && !over.is_empty();
    let interactive = is_interactive(&node.role) || ((has(node, "focused") || has(node, "editable")) && !is_inside);
    if TRANSPARENT.contains(&node.role.as_str()) && name.is_empty() && !interactive {
        return None;
    }
    let mut text = format!("- {}", node.role);
    if !name.is_empty() {
        text.push_str(&format!(" \"{name}\""));
    }
    let value = one_line(&node.value);
    if !value.is_empty() && value != name {
        text.push_str(&format!(" = \"{value}\""));
    }
    for (state, value) in &node.states {
        match (state.as_str(), value.as_str()) {
            ("url", url) if node.role == "link" => text.push_str(&format!(" -> {}", one_line(url))),
            ("url" | "editable" | "autocomplete" | "multiline", _) => {}
            ("valuemin" | "valuemax", "0") => {}
            (state, "true") => text.push_str(&format!(" [{state}]")),
            (state, value) => text.push_str(&format!(" [{state}={}]", one_line(value))),
        }
    }
    if let Some(element) = node.element {
        text.push_str(&format!(" [{}]", Reference::of(document, element)));
    }
    Some((text, interactive))
}

fn has(node: &Node, state: &str) -> bool {
    node.states.iter().any(|(name, _)| name == state)
}

/// Text on one line, cut, without what a terminal or a reader would obey.
pub(crate) fn one_line(text: &str) -> String {
    let mut out = String::new();
    let mut count = 0;
    for word in text.split(|sign: char| sign.is_whitespace() || sign.is_control()).filter(|word| !word.is_empty()) {
        if !out.is_empty() {
            out.push(' ');
        }
        for sign in word.chars() {
            count += 1;
            if count > TEXT {
                out.push('…');
                return out;
            }
            out.push(if sign == '"' { '\'' } else { sign });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(level: u32, element: u64, role: &str, name: &str) -> Node {
        Node {
            level,
            element: Some(element),
            role: role.into(),
            name: name.into(),
            value: String::new(),
            states: Vec::new(),
        }
    }

    fn frame(document: u32, parent: Option<u32>, owner: Option<u64>) -> Frame {
        Frame { document, parent, owner, url: String::new(), loading: false }
    }

    fn shown(lines: &[Line]) -> Vec<String> {
        lines.iter().map(|line| format!("{}{}", "  ".repeat(line.level), line.text)).collect()
    }

    #[test]
    fn frames_stand_where_they_are_shown_and_nothing_is_said_twice() {
        let outer = vec![
            node(0, 1, "RootWebArea", "T"),
            node(1, 2, "generic", ""),
            node(2, 3, "button", "Go on"),
            node(3, 4, "StaticText", "Go on"),
            node(4, 4, "InlineTextBox", "Go on"),
            node(1, 5, "Iframe", ""),
            node(1, 6, "StaticText", "end\nof \"it\""),
        ];
        let inner = vec![node(0, 1, "RootWebArea", ""), node(1, 9, "link", "In")];
        let documents = [
            Document { frame: frame(1, None, None), nodes: Ok(outer) },
            Document { frame: frame(2, Some(1), Some(5)), nodes: Ok(inner) },
            Document { frame: frame(3, Some(1), Some(77)), nodes: Err("silent".into()) },
        ];
        let expect = ["- button \"Go on\" [d1e3]", "- Iframe [d1e5]", "  - link \"In\" [d2e9]", "- end of 'it'"];
        assert_eq!(shown(&lines(&documents)), expect);
        let part = lines_of(&documents, Reference::of(1, 5)).unwrap();
        assert_eq!(shown(&part), ["- Iframe [d1e5]", "  - link \"In\" [d2e9]"]);
        assert_eq!(lines_of(&documents, Reference::of(1, 99)), None);
    }

    #[test]
    fn what_deceives_is_not_shown_and_long_text_is_cut() {
        assert_eq!(one_line("a\u{1b}[31m\n\tb"), "a [31m b");
        assert_eq!(one_line(&"x".repeat(1000)).chars().count(), TEXT + 1);
    }
}

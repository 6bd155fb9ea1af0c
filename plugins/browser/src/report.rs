//! What does every answer say of its tab? Where it is now, and what happened in it that nobody asked for: console
//! errors, dialogs, downloads, new tabs, requests that went nowhere.

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::bindings::exports::hermes::tool::tool_execution::{Error, Output};
use crate::bindings::hermes::tool::browser::{self, Download, DownloadState, Event, TabState};
use crate::bindings::hermes::tool::types::Content;
use crate::failure;

/// What happened since somebody last asked.
#[derive(Debug, Default, Serialize)]
pub(crate) struct News {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) console: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) dialogs: Vec<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) downloads: Vec<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) new_tabs: Vec<u32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) tabs_refused: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) blocked: Vec<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) not_reached: Vec<Value>,
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) crashed: bool,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) events_left_out: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over references")]
fn is_false(value: &bool) -> bool {
    !value
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over references")]
fn is_zero(value: &u32) -> bool {
    *value == 0
}

impl News {
    /// What happened in a tab.
    pub(crate) fn of(tab: u32) -> Result<News, Error> {
        let mut news = News::default();
        for event in browser::events(tab).map_err(failure::of)? {
            news.add(event);
        }
        Ok(news)
    }

    /// Adds what happened meanwhile.
    pub(crate) fn more(&mut self, tab: u32) -> Result<(), Error> {
        browser::events(tab).map_err(failure::of)?.into_iter().for_each(|event| self.add(event));
        Ok(())
    }

    fn add(&mut self, event: Event) {
        match event {
            Event::Console((level, text)) => self.console.push(format!("{level}: {text}")),
            Event::Dialog((kind, text, yes)) => {
                self.dialogs.push(json!({ "kind": kind, "text": text, "answered": if yes { "yes" } else { "no" } }));
            }
            Event::Download(download) => self.download(&download),
            Event::Opened(tab) => self.new_tabs.push(tab),
            Event::NotOpened(url) => self.tabs_refused.push(url),
            Event::Blocked((place, why)) => add_once(&mut self.blocked, json!({ "to": place, "why": why })),
            Event::NotReached((place, why)) => add_once(&mut self.not_reached, json!({ "to": place, "why": why })),
            Event::Crashed => self.crashed = true,
            Event::LeftOut(count) => self.events_left_out += count,
        }
    }

    /// The latest that is known of each download.
    fn download(&mut self, download: &Download) {
        let mut told = json!({ "name": download.name, "url": download.url, "state": state_of(download.state) });
        if download.size > 0 {
            told["bytes"] = download.size.into();
        }
        if let Some(path) = &download.path {
            told["path"] = path.as_str().into();
        }
        let same = |known: &&mut Value| {
            known["url"] == told["url"] && known["name"] == told["name"] && known["state"] == "started"
        };
        match self.downloads.iter_mut().find(same) {
            Some(known) => *known = told,
            None => self.downloads.push(told),
        }
    }

    /// Whether a download has begun that has not ended.
    pub(crate) fn is_downloading(&self) -> bool {
        self.downloads.iter().any(|download| download["state"] == "started")
    }

    fn into_facts(self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(facts)) => facts,
            Ok(_) | Err(_) => Map::new(),
        }
    }
}

fn add_once(list: &mut Vec<Value>, told: Value) {
    if !list.contains(&told) {
        list.push(told);
    }
}

fn state_of(state: DownloadState) -> &'static str {
    match state {
        DownloadState::Refused => "refused: downloads are not allowed",
        DownloadState::TooLarge => "refused: larger than a download may be",
        DownloadState::Started => "started",
        DownloadState::Kept => "kept",
        DownloadState::Failed => "failed",
    }
}

/// An answer: the tab, the facts of the tool, the news, and a text.
pub(crate) fn output(tab: u32, state: &TabState, facts: Value, news: News, content: Vec<Content>) -> Output {
    let mut data = Map::new();
    data.insert("tab".into(), tab.into());
    data.insert("url".into(), state.url.as_str().into());
    let title = browser::title(tab).unwrap_or_else(|_| state.title.clone());
    data.insert("title".into(), title.into());
    if let Some(status) = state.status {
        data.insert("status".into(), status.into());
    }
    if let Value::Object(facts) = facts {
        data.extend(facts);
    }
    data.extend(news.into_facts());
    Output { data: Some(Value::Object(data).to_string()), content, metadata: None }
}

/// The same with what is known now.
pub(crate) fn answer(tab: u32, facts: Value) -> Result<Output, Error> {
    let state = browser::state(tab).map_err(failure::of)?;
    Ok(output(tab, &state, facts, News::of(tab)?, Vec::new()))
}

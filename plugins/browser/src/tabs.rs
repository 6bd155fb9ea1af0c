//! Which tab does a call mean, and which are there?

use serde::Deserialize;
use serde_json::{Value, json};

use crate::bindings::exports::hermes::tool::tool_execution::{Error, Output};
use crate::bindings::hermes::tool::browser;
use crate::failure;

#[derive(Deserialize)]
pub(crate) struct List {
    select: Option<u32>,
}

#[derive(Deserialize)]
pub(crate) struct Close {
    tab: Option<u32>,
    #[serde(default)]
    all: bool,
}

/// The tab that a call names, or the current one.
pub(crate) fn meant(named: Option<u32>) -> Result<u32, Error> {
    let tabs = browser::tabs().map_err(failure::of)?;
    let found = match named {
        Some(id) => tabs.iter().find(|tab| tab.id == id),
        None => tabs.iter().find(|tab| tab.current),
    };
    found.map(|tab| tab.id).ok_or_else(|| {
        let open = tabs.iter().map(|tab| tab.id.to_string()).collect::<Vec<_>>().join(", ");
        let message = match (named, tabs.is_empty()) {
            (_, true) => "no tab is open".to_owned(),
            (Some(id), false) => format!("tab {id} is not open; open are {open}"),
            (None, false) => format!("none of the open tabs ({open}) is the current one"),
        };
        failure::failed("no_such_tab", message, Some("browser_navigate opens a tab, browser_tabs lists them"))
    })
}

/// Lists the tabs, and makes one the current one.
pub(crate) fn list(args: &List) -> Result<Output, Error> {
    if let Some(id) = args.select {
        browser::select(meant(Some(id))?).map_err(failure::of)?;
    }
    answer()
}

/// Closes a tab, or all of the session.
pub(crate) fn close(args: &Close) -> Result<Output, Error> {
    match args.all {
        true => {
            browser::close_session().map_err(failure::of)?;
            Ok(Output { data: Some(json!({ "tabs": [] }).to_string()), content: Vec::new(), metadata: None })
        }
        false => {
            browser::close(meant(args.tab)?).map_err(failure::of)?;
            answer()
        }
    }
}

fn answer() -> Result<Output, Error> {
    let tabs = browser::tabs().map_err(failure::of)?;
    let told = |tab: &browser::Tab| {
        let mut told = json!({ "tab": tab.id, "url": tab.url, "title": browser::title(tab.id).unwrap_or_else(|_| tab.title.clone()), "current": tab.current });
        if let Some(opener) = tab.opener {
            told["opened_by"] = opener.into();
        }
        told
    };
    let tabs: Vec<Value> = tabs.iter().map(told).collect();
    Ok(Output { data: Some(json!({ "tabs": tabs }).to_string()), content: Vec::new(), metadata: None })
}

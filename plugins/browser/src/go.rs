//! How does a tab get to another page, and what if it does not? A server that refuses, one that is silent, a name that
//! leads nowhere, an address outside the rules and a file instead of a page are told apart.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::bindings::exports::hermes::tool::tool_execution::{Error, Output};
use crate::bindings::hermes::tool::browser::{self, Frame, Reason, Stage, Started};
use crate::bindings::hermes::tool::types::ErrorKind;
use crate::report::{self, News};
use crate::settle::{self, Settled, Time};
use crate::{failure, tabs};

#[derive(Deserialize)]
pub(crate) struct Navigate {
    url: String,
    tab: Option<u32>,
    #[serde(default)]
    new_tab: bool,
}

#[derive(Deserialize)]
pub(crate) struct Back {
    tab: Option<u32>,
    #[serde(default)]
    forward: bool,
}

/// Goes to an address.
pub(crate) fn navigate(args: &Navigate, time: &Time) -> Result<Output, Error> {
    let tab = match (args.new_tab, args.tab) {
        (false, Some(id)) => tabs::meant(Some(id))?,
        (false, None) if browser::tabs().map_err(failure::of)?.iter().any(|tab| tab.current) => tabs::meant(None)?,
        (true, _) | (false, None) => browser::open().map_err(failure::of)?,
    };
    // What happened before is not this call's doing.
    let _ = browser::events(tab);
    let started = browser::navigate(tab, &args.url).map_err(|problem| match problem.reason {
        Reason::TimedOut => Error {
            request_sent: true,
            ..failure::error(
                ErrorKind::Timeout,
                Some("timed_out"),
                format!("`{}` did not answer in time", args.url),
                Some("try again, or give a longer `timeout_seconds`"),
            )
        },
        _ => failure::of(problem),
    })?;
    if started.download {
        return download(tab, time);
    }
    if let Some(error) = &started.error {
        return not_loaded(tab, &args.url, error, time);
    }
    let settled = match started.same_document {
        true => settle::reaction(tab, time)?,
        false => settle::next_page(tab, started.page, time)?,
    };
    arrived(tab, &started, settled)
}

fn arrived(tab: u32, started: &Started, settled: Settled) -> Result<Output, Error> {
    let Settled { state, is_there } = settled;
    if state.stage == Stage::Crashed {
        let hint = "navigate again; the page itself may be what breaks it";
        return Err(failure::failed("page_crashed", "the page's process broke off".into(), Some(hint)));
    }
    let news = News::of(tab)?;
    let is_new = started.same_document || state.page > started.page;
    if !is_there && !is_new {
        browser::stop(tab).map_err(failure::of)?;
        let message = "the page did not come in time".to_owned();
        let hint = "try again, or give a longer `timeout_seconds`";
        return Err(failure::error(ErrorKind::Timeout, Some("timed_out"), message, Some(hint)));
    }
    let mut facts = json!({});
    let pending = pending(tab);
    if !pending.is_empty() {
        facts["pending_frames"] = pending.into();
    }
    if !is_there {
        facts["incomplete"] = "the page was still being read when the time was over".into();
    }
    Ok(report::output(tab, &state, facts, news, Vec::new()))
}

/// The frames that are still being loaded. A page that is too busy to say has none that are known.
fn pending(tab: u32) -> Vec<Value> {
    let frames = browser::frames(tab).unwrap_or_default();
    let is_pending = |frame: &&Frame| frame.parent.is_some() && frame.loading;
    let told = |frame: &Frame| match frame.url.is_empty() || frame.url == "about:blank" {
        true => Value::from("a frame without an answer"),
        false => Value::from(frame.url.as_str()),
    };
    frames.iter().filter(is_pending).take(20).map(told).collect()
}

/// The answer was a file.
fn download(tab: u32, time: &Time) -> Result<Output, Error> {
    let mut news = News::of(tab)?;
    while (news.downloads.is_empty() || news.is_downloading()) && !time.is_over() {
        browser::wait(tab, time.step()).map_err(failure::of)?;
        news.more(tab)?;
    }
    let state = browser::state(tab).map_err(failure::of)?;
    let refused =
        news.downloads.iter().any(|told| told["state"].as_str().is_some_and(|state| state.starts_with("refused")));
    let output = report::output(tab, &state, json!({ "download": true }), news, Vec::new());
    match refused {
        true => {
            let message = "the address gives a file, and this one may not be kept".to_owned();
            let hint = "the operator grants a folder and a size with `[browser] downloads` and `download_mb`";
            let error = failure::error(ErrorKind::Denied, Some("download_refused"), message, Some(hint));
            Err(Error { partial: Some(output), request_sent: true, ..error })
        }
        false => Ok(output),
    }
}

/// The browser's own word for why there is no page, and what the way out of its network knows of it.
fn not_loaded(tab: u32, url: &str, error: &str, time: &Time) -> Result<Output, Error> {
    let mut news = News::of(tab)?;
    // A download that the rules refuse looks like a page that was given up.
    if error == "net::ERR_ABORTED" {
        let _ = browser::wait(tab, time.step());
        news.more(tab)?;
        if !news.downloads.is_empty() {
            return download_of(tab, news);
        }
    }
    let to = |list: &[Value]| list.first().map(|told| (text(&told["to"]), text(&told["why"])));
    if let Some((place, why)) = to(&news.blocked) {
        let message = format!("the browser may not go to `{place}`: {why}");
        return Err(failure::error(ErrorKind::Denied, Some("url_out_of_bounds"), message, None));
    }
    let why = match to(&news.not_reached) {
        Some((place, why)) => format!("`{place}`: {why}"),
        None if error == "net::ERR_BLOCKED_BY_ADMINISTRATOR" => {
            let message = format!("the browser may not go to `{url}`, or to where it leads");
            return Err(failure::error(ErrorKind::Denied, Some("url_out_of_bounds"), message, None));
        }
        None => error.strip_prefix("net::ERR_").unwrap_or(error).to_lowercase().replace('_', " "),
    };
    let failed = failure::failed("page_load_failed", format!("`{url}` could not be loaded: {why}"), None);
    Err(Error { request_sent: true, ..failed })
}

fn download_of(tab: u32, news: News) -> Result<Output, Error> {
    let state = browser::state(tab).map_err(failure::of)?;
    let output = report::output(tab, &state, json!({ "download": true }), news, Vec::new());
    let message = "the address gives a file, and downloads are not allowed".to_owned();
    let hint = "the operator grants a folder with `[browser] downloads`";
    let error = failure::error(ErrorKind::Denied, Some("download_refused"), message, Some(hint));
    Err(Error { partial: Some(output), request_sent: true, ..error })
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Goes back or forward in a tab's history.
pub(crate) fn back(args: &Back, time: &Time) -> Result<Output, Error> {
    let tab = tabs::meant(args.tab)?;
    let before = browser::state(tab).map_err(failure::of)?;
    let _ = browser::events(tab);
    let (by, way) = if args.forward { (1, "forward") } else { (-1, "back") };
    if !browser::travel(tab, by).map_err(failure::of)? {
        return Err(failure::failed("no_history", format!("there is no page to go {way} to"), None));
    }
    // A step within one document changes the address alone.
    while !time.is_over() {
        let state = browser::state(tab).map_err(failure::of)?;
        if state.page > before.page || state.url != before.url {
            break;
        }
        browser::wait(tab, time.step()).map_err(failure::of)?;
    }
    let settled = settle::reaction(tab, time)?;
    let started = Started { error: None, download: false, page: before.page, same_document: true };
    arrived(tab, &started, settled)
}

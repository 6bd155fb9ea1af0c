//! What else can be asked of a page: to wait until it says something, and to run a script of the caller's.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::bindings::exports::hermes::tool::tool_execution::{Error, Output};
use crate::bindings::hermes::tool::browser::{self, Frame, Realm};
use crate::bindings::hermes::tool::types::{Content, ErrorKind};
use crate::element::Reference;
use crate::report::{self, News};
use crate::settle::Time;
use crate::{element, failure, tabs};

#[derive(Deserialize)]
pub(crate) struct Wait {
    tab: Option<u32>,
    text: Option<String>,
    gone: Option<String>,
    seconds: Option<u32>,
}

#[derive(Deserialize)]
pub(crate) struct Evaluate {
    function: String,
    tab: Option<u32>,
    #[serde(rename = "ref")]
    reference: Option<String>,
}

/// Whether a document shows a text, also within open shadow roots.
const SHOWS: &str = "function (text) {
  const within = (root) => {
    if ((root.innerText ?? root.textContent ?? '').includes(text)) return true;
    for (const part of root.querySelectorAll('*')) {
      if (part.shadowRoot && [...part.shadowRoot.children].some(within)) return true;
    }
    return false;
  };
  return !!this.document.body && within(this.document.body);
}";
/// How often a page is asked whether it shows a text, in looks of the tab.
const EVERY: u32 = 2;

/// Waits until a text is shown, or is not, or for some seconds.
pub(crate) fn wait(args: &Wait, time: &Time) -> Result<Output, Error> {
    let tab = tabs::meant(args.tab)?;
    let (text, wanted) = match (&args.text, &args.gone) {
        (Some(text), None) => (text, true),
        (None, Some(text)) => (text, false),
        (None, None) => return pause(tab, args.seconds.unwrap_or(1), time),
        (Some(_), Some(_)) => {
            let message = "`text` and `gone` exclude each other".to_owned();
            return Err(failure::error(
                ErrorKind::InvalidInput,
                None,
                message,
                Some("wait for one, then for the other"),
            ));
        }
    };
    let mut looks = 0;
    loop {
        if looks % EVERY == 0 && shows(tab, text)? == wanted {
            return report::answer(tab, json!({ "found": wanted }));
        }
        if time.is_over() {
            let not = if wanted { "does not show" } else { "still shows" };
            let message = format!("the page {not} `{text}`");
            let error = failure::error(ErrorKind::Timeout, Some("text_not_found"), message, None);
            return Err(Error { partial: report::answer(tab, json!({})).ok(), ..error });
        }
        browser::wait(tab, time.step()).map_err(failure::of)?;
        looks += 1;
    }
}

fn shows(tab: u32, text: &str) -> Result<bool, Error> {
    let arguments = json!([text]).to_string();
    for frame in browser::frames(tab).map_err(failure::of)? {
        let shown = browser::evaluate(tab, frame.document, None, Realm::Apart, SHOWS, &arguments);
        // A frame that is just changing shows nothing yet.
        if shown.is_ok_and(|shown| shown == "true") {
            return Ok(true);
        }
    }
    Ok(false)
}

fn pause(tab: u32, seconds: u32, time: &Time) -> Result<Output, Error> {
    let end = std::time::Instant::now() + std::time::Duration::from_secs(seconds.into());
    while std::time::Instant::now() < end && !time.is_over() {
        browser::wait(tab, time.step()).map_err(failure::of)?;
    }
    report::answer(tab, json!({}))
}

/// Runs a script of the caller's as one of the page's own.
pub(crate) fn evaluate(args: &Evaluate) -> Result<Output, Error> {
    let tab = tabs::meant(args.tab)?;
    let (document, on) = match &args.reference {
        Some(text) => {
            let Reference { document, element } = element::find(tab, text)?;
            (document, Some(element))
        }
        None => (main(tab)?.document, None),
    };
    let function = as_function(&args.function);
    let result = browser::evaluate(tab, document, on, Realm::Page, &function, "[]")
        .map_err(|problem| Error { request_sent: true, ..failure::of(problem) })?;
    let state = browser::state(tab).map_err(failure::of)?;
    let value: Value = serde_json::from_str(&result).unwrap_or(Value::Null);
    Ok(report::output(tab, &state, json!({ "result": value }), News::of(tab)?, Vec::<Content>::new()))
}

fn main(tab: u32) -> Result<Frame, Error> {
    let frames = browser::frames(tab).map_err(failure::of)?;
    frames.into_iter().next().ok_or_else(|| failure::failed("no_such_tab", "the tab shows no page".into(), None))
}

/// A script as a function: one already, or an expression, or statements with `return`. An element is its argument and
/// `this`.
fn as_function(text: &str) -> String {
    let text = text.trim();
    let is_function = text.starts_with("function") || text.starts_with("async function") || is_arrow(text);
    if is_function {
        return format!("async function () {{ return await ({text}).call(this, this); }}");
    }
    let has_return = text.split(|sign: char| !sign.is_alphanumeric() && sign != '_').any(|word| word == "return");
    match has_return {
        true => format!("async function (element) {{\n{text}\n}}"),
        false => format!("async function (element) {{ return (\n{text}\n); }}"),
    }
}

/// Whether a text begins as `(a, b) =>`, `a =>` or `async … =>`.
fn is_arrow(text: &str) -> bool {
    let text = text.strip_prefix("async").map_or(text, str::trim_start);
    let head = match text.strip_prefix('(') {
        Some(rest) => rest.split_once(')').map(|(_, rest)| rest),
        None => Some(text.trim_start_matches(|sign: char| sign.is_alphanumeric() || sign == '_' || sign == '$')),
    };
    head.is_some_and(|rest| rest.trim_start().starts_with("=>"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_of_every_form_become_functions() {
        let check = |text: &str, expect: &str| assert!(as_function(text).contains(expect), "{}", as_function(text));
        check("() => 1", "await (() => 1).call(this, this)");
        check("async (a) => a.id", "await (async (a) => a.id)");
        check("element => element.id", "await (element => element.id)");
        check("function () { return 1 }", "await (function () { return 1 })");
        check("document.title", "return (\ndocument.title\n);");
        check("(1 + 2) * 3", "return (\n(1 + 2) * 3\n);");
        check("const a = 1; return a;", "{\nconst a = 1; return a;\n}");
    }
}

//! What can be done on a page: press, type, choose. Each waits for what it leads to and says what became of the page.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::bindings::exports::hermes::tool::tool_execution::{Error, Output};
use crate::bindings::hermes::tool::browser::{self, Key};
use crate::bindings::hermes::tool::types::ErrorKind;
use crate::report::{self, News};
use crate::settle::{self, Time};
use crate::{element, failure, keys, tabs};

#[derive(Deserialize)]
pub(crate) struct Click {
    #[serde(rename = "ref")]
    reference: String,
    tab: Option<u32>,
    #[serde(default)]
    double: bool,
}

#[derive(Deserialize)]
pub(crate) struct Type {
    #[serde(rename = "ref")]
    reference: String,
    text: String,
    tab: Option<u32>,
    #[serde(default)]
    append: bool,
    #[serde(default)]
    submit: bool,
}

#[derive(Deserialize)]
pub(crate) struct Select {
    #[serde(rename = "ref")]
    reference: String,
    values: Vec<String>,
    tab: Option<u32>,
}

#[derive(Deserialize)]
pub(crate) struct Press {
    key: String,
    #[serde(rename = "ref")]
    reference: Option<String>,
    tab: Option<u32>,
}

/// Presses an element.
pub(crate) fn click(args: &Click, time: &Time) -> Result<Output, Error> {
    let tab = tabs::meant(args.tab)?;
    let before = begin(tab)?;
    let (_, point) = element::reach(tab, &args.reference)?;
    let times = if args.double { 2 } else { 1 };
    sent_to(tab, browser::click(tab, point, times))?;
    done(tab, before, json!({}), time)
}

/// Puts the focus on an element and chooses what is to be replaced, or the end of what is there.
const FOCUS: &str = "function (append) {
  const target = this.nodeType === 1 ? this : this.parentElement;
  if (!target) return 'it is the page itself';
  target.focus();
  const editable = 'value' in target || target.isContentEditable;
  if (!editable) return 'it takes no text';
  if (target.readOnly || target.disabled) return 'it is read-only';
  if ('select' in target && 'value' in target) {
    if (append) { try { const end = target.value.length; target.setSelectionRange(end, end); } catch { /* has no end */ } }
    else target.select();
  } else if (target.isContentEditable) {
    const selection = target.ownerDocument.getSelection();
    selection.selectAllChildren(target);
    if (append) selection.collapseToEnd();
  }
  return '';
}";

/// Inputs whose value has a form of its own are set as a whole; typing into them means pressing through their parts.
const SET_WHOLE: &str = "function (text) {
  const whole = ['date', 'time', 'datetime-local', 'month', 'week', 'color', 'range'];
  if (this.localName !== 'input' || !whole.includes(this.type)) return false;
  this.value = text;
  this.dispatchEvent(new Event('input', { bubbles: true }));
  this.dispatchEvent(new Event('change', { bubbles: true }));
  if (this.value !== text) throw new Error('it takes no such value: ' + this.type);
  return true;
}";

/// Types a text into an element, in place of what is there or after it.
pub(crate) fn type_text(args: &Type, time: &Time) -> Result<Output, Error> {
    let tab = tabs::meant(args.tab)?;
    let before = begin(tab)?;
    let reference = element::find(tab, &args.reference)?;
    browser::locate(tab, reference.document, reference.element).map_err(|problem| match problem.reason {
        browser::Reason::Gone => element::gone(tab, &args.reference, "is not on the page any more"),
        _ => failure::of(problem),
    })?;
    let obstacle = element::ask(tab, reference, FOCUS, &json!([args.append]))?;
    if let Some(why) = obstacle.as_str().filter(|why| !why.is_empty()) {
        let message = format!("`{reference}` cannot be typed into: {why}");
        return Err(failure::failed("element_unreachable", message, Some("use a reference of a text field")));
    }
    if element::ask(tab, reference, SET_WHOLE, &json!([args.text]))? != Value::Bool(true) {
        match args.text.is_empty() {
            // Nothing in place of what is there.
            true if !args.append => press_key(tab, "Delete")?,
            true => {}
            false => browser::insert(tab, &args.text).map_err(sent)?,
        }
    }
    if args.submit {
        press_key(tab, "Enter")?;
    }
    done(tab, before, json!({}), time)
}

/// Chooses options by value or by what they say, and tells the page as a person's choice would.
const CHOOSE: &str = "function (wanted) {
  if (this.localName !== 'select') return { error: 'it is no list to choose from' };
  if (this.disabled) return { error: 'it is disabled' };
  const options = [...this.options];
  const said = (option) => option.label.trim();
  const found = wanted.map((text) => options.find((o) => o.value === text) || options.find((o) => said(o) === text.trim()));
  const missing = wanted.filter((_, at) => !found[at]);
  const offered = options.slice(0, 50).map((o) => o.value === said(o) ? o.value : o.value + ' (' + said(o) + ')');
  if (missing.length) return { missing, offered };
  if (found.some((o) => o.disabled)) return { error: 'an option is disabled' };
  if (!this.multiple && found.length > 1) return { error: 'it takes one option' };
  for (const option of options) option.selected = found.includes(option);
  this.dispatchEvent(new Event('input', { bubbles: true }));
  this.dispatchEvent(new Event('change', { bubbles: true }));
  return { selected: [...this.selectedOptions].map((o) => o.value) };
}";

/// Chooses options of a list.
pub(crate) fn select(args: &Select, time: &Time) -> Result<Output, Error> {
    let tab = tabs::meant(args.tab)?;
    let before = begin(tab)?;
    let reference = element::find(tab, &args.reference)?;
    let chosen = element::ask(tab, reference, CHOOSE, &json!([args.values]))?;
    if let Some(why) = chosen["error"].as_str() {
        let message = format!("`{reference}` cannot be chosen from: {why}");
        return Err(failure::failed("element_unreachable", message, None));
    }
    if let Some(missing) = chosen["missing"].as_array() {
        let shown = |list: &[Value]| list.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ");
        let message = format!("`{reference}` has no option {}", shown(missing));
        let offered = shown(chosen["offered"].as_array().map_or(&[], Vec::as_slice));
        return Err(failure::failed("option_not_found", message, Some(&format!("its options are {offered}"))));
    }
    done(tab, before, json!({ "selected": chosen["selected"] }), time)
}

/// Presses a key, on an element or where the focus is.
pub(crate) fn press(args: &Press, time: &Time) -> Result<Output, Error> {
    let tab = tabs::meant(args.tab)?;
    let before = begin(tab)?;
    let key = known(&args.key)?;
    if let Some(text) = &args.reference {
        let reference = element::find(tab, text)?;
        element::ask(tab, reference, "function () { this.focus?.(); }", &json!([]))?;
    }
    sent_to(tab, browser::press(tab, &key))?;
    done(tab, before, json!({}), time)
}

fn press_key(tab: u32, name: &str) -> Result<(), Error> {
    sent_to(tab, browser::press(tab, &known(name)?))
}

fn known(name: &str) -> Result<Key, Error> {
    keys::parse(name).ok_or_else(|| {
        let shown: String = name.chars().take(40).collect();
        let hint = "name one sign or Enter, Tab, Escape, Backspace, Delete, ArrowUp, Home, PageDown, F1, …, with \
                    Control+, Shift+, Alt+ or Meta+ before it";
        failure::error(ErrorKind::InvalidInput, Some("unknown_key"), format!("no key is called `{shown}`"), Some(hint))
    })
}

/// What went wrong after something may have been done.
fn sent(problem: browser::Failure) -> Error {
    Error { request_sent: true, ..failure::of(problem) }
}

/// The page before; what happened until now is not this call's doing.
fn begin(tab: u32) -> Result<u32, Error> {
    let _ = browser::events(tab);
    browser::state(tab).map(|state| state.page).map_err(failure::of)
}

/// What a press leads to, and what became of the page. A press may close its own tab, at any moment from now on.
fn done(tab: u32, before: u32, facts: Value, time: &Time) -> Result<Output, Error> {
    let told = became(tab, before, facts, time);
    let broke_off = |error: &Error| error.reason.as_deref().is_some_and(|reason| reason.ends_with("crashed"));
    match told.as_ref().is_err_and(|error| !broke_off(error)) && !is_open(tab)? {
        true => Ok(Output {
            data: Some(json!({ "tab": tab, "closed": true }).to_string()),
            content: Vec::new(),
            metadata: None,
        }),
        false => told,
    }
}

fn is_open(tab: u32) -> Result<bool, Error> {
    Ok(browser::tabs().map_err(failure::of)?.iter().any(|open| open.id == tab))
}

/// How something done went: a tab that is gone by the time of the answer was there when it was done.
fn sent_to(tab: u32, answer: Result<(), browser::Failure>) -> Result<(), Error> {
    match answer {
        Err(problem) if problem.reason != browser::Reason::Crashed && !is_open(tab)? => Ok(()),
        answer => answer.map_err(sent),
    }
}

fn became(tab: u32, before: u32, mut facts: Value, time: &Time) -> Result<Output, Error> {
    let settled = settle::reaction(tab, time)?;
    let mut news = News::of(tab)?;
    while news.is_downloading() && !time.is_over() {
        browser::wait(tab, time.step()).map_err(failure::of)?;
        news.more(tab)?;
    }
    if settled.state.page > before {
        facts["new_page"] = true.into();
    }
    if !settled.is_there {
        facts["incomplete"] = "the page was still being read when the time was over".into();
    }
    Ok(report::output(tab, &settled.state, facts, news, Vec::new()))
}

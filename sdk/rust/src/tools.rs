//! Calls of other tools. Each goes through all seven steps of the runtime, as a call of the same caller.

use crate::bindings::hermes::tool::invoke as host;
use crate::call::{Call, Given};
use crate::failure::{Failure, Kind, Result};
use serde::Serialize;
use serde_json::Value;

/// The tools that configuration lets this plugin call. A tool takes it as `&Tools`; `adapter.toml` asks for `invoke`.
///
/// ```
/// use hermes_sdk::{Result, Tools, tool};
/// use serde_json::{Value, json};
///
/// /// Say how many lines a file has.
/// #[tool]
/// fn lines(path: String, tools: &Tools) -> Result<Value> {
///     let read = tools.call("file_read", &json!({ "path": path }))?.ok()?;
///     Ok(json!({ "lines": read["text"].as_str().map_or(0, |text| text.lines().count()) }))
/// }
///
/// # fn main() {
/// let world = hermes_sdk::native::World::new().tool("file_read", json!({ "text": "one\ntwo" }));
/// let (found, world) = world.run(|| lines("a.txt".into(), &Tools::for_test()));
/// assert_eq!(found.unwrap()["lines"], 2);
/// assert_eq!(world.called[0].1["path"], "a.txt");
/// # }
/// ```
#[derive(Debug)]
pub struct Tools(());

/// What another tool answered, a refusal too.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// 200, or the code of its error.
    pub code: u16,
    /// `{status, data, metadata, error}`, as an agent would get it.
    pub envelope: Value,
}

impl Given for Tools {
    fn given(_: &Call) -> Tools {
        Tools(())
    }
}

impl Tools {
    /// The tools of the world, for a native test.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn for_test() -> Tools {
        Tools(())
    }

    /// The names of the tools that can be called, sorted.
    pub fn granted(&self) -> Vec<String> {
        #[cfg(target_arch = "wasm32")]
        return host::granted();
        #[cfg(not(target_arch = "wasm32"))]
        crate::native::note(|world| world.tools.keys().cloned().collect())
    }

    /// Calls a tool and waits for its answer. That it refuses or fails is an answer; only that no call was made is a
    /// failure here.
    pub fn call<T: Serialize + ?Sized>(&self, tool: &str, args: &T) -> Result<Reply> {
        let args = serde_json::to_value(args)
            .map_err(|error| Failure::invalid(format!("the arguments of `{tool}` are no JSON: {error}")))?;
        #[cfg(target_arch = "wasm32")]
        {
            let answer = host::call(tool, &args.to_string())?;
            Ok(Reply { code: answer.code, envelope: serde_json::from_str(&answer.envelope)? })
        }
        #[cfg(not(target_arch = "wasm32"))]
        crate::native::call(tool, args)
    }
}

impl Reply {
    /// Whether the tool did what it was asked.
    pub fn is_ok(&self) -> bool {
        self.code == 200
    }

    /// What the tool found.
    pub fn data(&self) -> &Value {
        &self.envelope["data"]
    }

    /// What the tool found, or its error as a failure of this one.
    pub fn ok(self) -> Result<Value> {
        if self.is_ok() {
            let mut envelope = self.envelope;
            return Ok(envelope["data"].take());
        }
        let error = &self.envelope["error"];
        let text = |name: &str| error[name].as_str().map(str::to_owned);
        let kind = match self.code {
            202 | 403 => Kind::Denied,
            400 => Kind::InvalidInput,
            408 => Kind::Timeout,
            409 => Kind::Conflict,
            413 => Kind::TooLarge,
            429 | 503 => Kind::Unavailable,
            502 => Kind::Upstream,
            _ => Kind::ToolFailed,
        };
        let message = text("message").unwrap_or_else(|| format!("another tool answered with {}", self.code));
        let failure =
            Failure { hint: text("hint"), reason: text("reason").or(text("kind")), ..Failure::new(kind, message) };
        // What a call that was made has done stays done.
        Err(failure.sent())
    }
}

impl From<host::Failure> for Failure {
    fn from(failure: host::Failure) -> Failure {
        let (kind, reason) = match failure.reason {
            host::Reason::NotGranted => (Kind::Denied, "not_granted"),
            host::Reason::TooDeep => (Kind::Denied, "too_deep"),
            host::Reason::TooMany => (Kind::Denied, "too_many"),
            host::Reason::TimedOut => (Kind::Timeout, "timed_out"),
        };
        Failure::new(kind, failure.message).reason(reason)
    }
}

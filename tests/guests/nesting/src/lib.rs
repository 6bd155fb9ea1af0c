//! What does a call get that makes others? Makes the calls that its arguments list and answers with what came of each.
//! Must not be of use for anything else.

mod bindings {
    wit_bindgen::generate!({ world: "invoking-tool", path: "../../../wit" });
}

use bindings::exports::hermes::tool::tool_execution::{Call, Description, Error, Guest, Output};
use bindings::hermes::tool::invoke;
use serde_json::{Value, json};

struct Nesting;

impl Guest for Nesting {
    fn describe() -> Description {
        Description { name: "nesting".into(), version: "0.1.0".into(), tools: Vec::new() }
    }

    /// `{"calls": [{"tool": …, "args": {…}}], "times": 1}`
    fn execute(call: Call) -> Result<Output, Error> {
        let args: Value = serde_json::from_str(&call.args).unwrap_or_default();
        let times = args["times"].as_u64().unwrap_or(1);
        let calls = args["calls"].as_array().cloned().unwrap_or_default();
        let answers: Vec<Value> = (0..times).flat_map(|_| &calls).map(made).collect();
        let data = json!({ "granted": invoke::granted(), "answers": answers });
        Ok(Output { data: Some(data.to_string()), content: Vec::new(), metadata: None })
    }

    fn check_health() -> Result<(), Error> {
        Ok(())
    }
}

bindings::export!(Nesting with_types_in bindings);

fn made(call: &Value) -> Value {
    match invoke::call(call["tool"].as_str().unwrap_or_default(), &call["args"].to_string()) {
        Ok(answer) => {
            let envelope: Value = serde_json::from_str(&answer.envelope).unwrap_or_default();
            json!({ "code": answer.code, "envelope": envelope })
        }
        Err(failure) => json!({ "refused": failure.reason.to_string(), "message": failure.message }),
    }
}

impl std::fmt::Display for invoke::Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            invoke::Reason::NotGranted => "not_granted",
            invoke::Reason::TooDeep => "too_deep",
            invoke::Reason::TooMany => "too_many",
            invoke::Reason::TimedOut => "timed_out",
        })
    }
}

//! Which tools are the runtime's own? A table: the manifest of each and what answers its calls. They pass all steps as
//! any tool does; only what runs is the step's own function instead of a component. Part of the spine.
//!
//! A step that offers a tool has its manifest as a constant and its answer as a function beside what it answers from,
//! and a line here. What is in the answer is the tool's facts.

use crate::call::Call;
use crate::dispatch::Runtime;
use crate::error::Error;
use crate::registry::discovery;
use crate::sandbox::Output;
use crate::toolbox::Toolbox;
use serde_json::{Value, json};
use std::future::Future;
use std::pin::Pin;

/// Mistakes with a tool's arguments that its description tells.
const MISTAKES: usize = 5;

/// One of the runtime's own tools.
pub(crate) struct BuiltIn {
    /// Its manifest, in TOML. `required_roles` is left out: every role may call it, unless configuration says otherwise.
    pub(crate) manifest: &'static str,
    /// What answers its calls.
    pub(crate) answer: for<'a> fn(&'a Runtime, Asked<'a>) -> Answering<'a>,
}

/// A permitted call of a built-in tool with its checked arguments.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    /// The call.
    pub(crate) call: &'a Call,
    /// Its arguments.
    pub(crate) args: &'a Value,
    /// The tools as the call found them.
    pub(crate) toolbox: &'a Toolbox,
}

/// An answer that is on its way: the facts.
pub(crate) type Answering<'a> = Pin<Box<dyn Future<Output = Result<Value, Error>> + Send + 'a>>;

/// All of them.
pub(crate) const TOOLS: &[BuiltIn] = &[
    BuiltIn {
        manifest: discovery::SEARCH,
        answer: |runtime, asked| {
            Box::pin(async move {
                let qualities = runtime.qualities().await?;
                let role = &asked.call.caller.role;
                Ok(discovery::answer_search(&asked.toolbox.registry, role, asked.args, &qualities))
            })
        },
    },
    BuiltIn {
        manifest: discovery::DESCRIBE,
        answer: |runtime, asked| {
            Box::pin(async move {
                let role = &asked.call.caller.role;
                let mut facts = discovery::answer_describe(&asked.toolbox.registry, role, asked.args)?;
                let name = facts["name"].as_str().unwrap_or_default().to_owned();
                let mistakes = runtime.argument_mistakes(Some(&name)).await?;
                facts["templates"] = json!(runtime.argument_templates(&name).await?);
                facts["frequent_mistakes"] = json!(&mistakes[..mistakes.len().min(MISTAKES)]);
                Ok(facts)
            })
        },
    },
];

/// Answers a call of a built-in tool, by its place in the table.
pub(crate) async fn answer(place: usize, runtime: &Runtime, asked: Asked<'_>) -> Result<Output, Error> {
    let facts = (TOOLS[place].answer)(runtime, asked).await?;
    Ok(Output { data: Some(facts.to_string()), content: Vec::new(), metadata: None })
}

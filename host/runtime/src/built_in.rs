//! Which tools are the runtime's own? A table: the manifest of each and what answers its calls. They pass all steps as
//! any tool does; only what runs is the step's own function instead of a component. Part of the spine.
//!
//! A step that offers a tool has its manifest as a constant and its answer as a function beside what it answers from,
//! and a line here. What is in the answer is the tool's facts.

use crate::call::Call;
use crate::dispatch::Runtime;
use crate::error::{Error, Step};
use crate::injection::{memory, trajectory};
use crate::permission::approval::status;
use crate::registry::discovery;
use crate::result::read;
use crate::sandbox::Output;
use crate::toolbox::Toolbox;
use serde_json::{Value, json};
use std::future::Future;
use std::pin::Pin;
use std::time::Instant;

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
    BuiltIn { manifest: read::MANIFEST, answer: |runtime, asked| Box::pin(read_result(runtime, asked)) },
    BuiltIn {
        manifest: memory::SET_TASK,
        answer: |runtime, asked| {
            let task = asked.args.get("task").and_then(Value::as_str).unwrap_or_default();
            runtime.sessions.of(asked.call, Instant::now()).set_task(task);
            Box::pin(std::future::ready(Ok(json!({ "task": task }))))
        },
    },
    BuiltIn { manifest: memory::WORKING_MEMORY, answer: |runtime, asked| Box::pin(remember(runtime, asked)) },
    BuiltIn {
        manifest: status::STATUS,
        answer: |runtime, asked| Box::pin(status::answer(runtime.journal(), &asked.call.caller.id, asked.args)),
    },
];

/// Reads on in a whole result of this caller.
async fn read_result(runtime: &Runtime, asked: Asked<'_>) -> Result<Value, Error> {
    let wanted: read::Asked = serde_json::from_value(asked.args.clone())
        .map_err(|error| Error::internal(Step::Sandbox, format!("arguments that were valid: {error}")))?;
    let (artifacts, caller) = (runtime.artifacts.clone(), asked.call.caller.clone());
    let found = tokio::task::spawn_blocking(move || match artifacts.get(&caller, &wanted.handle) {
        None => Err(read::unknown(&wanted.handle)),
        Some(artifact) => read::read(&artifact.data, &wanted).map(|mut facts| {
            if artifact.untrusted {
                facts["untrusted"] = true.into();
            }
            for (name, words) in [("taint", artifact.taint), ("sensitivity", artifact.sensitivity)] {
                if !words.is_empty() {
                    facts[name] = words.into();
                }
            }
            facts
        }),
    });
    found.await.map_err(|error| Error::internal(Step::Sandbox, error.to_string()))?
}

/// What this session has done, from its records.
async fn remember(runtime: &Runtime, asked: Asked<'_>) -> Result<Value, Error> {
    let last = asked.args.get("last").and_then(Value::as_u64).map_or(memory::MOST, |last| last as usize);
    let (session, caller) = (asked.call.session.clone(), asked.call.caller.id.clone());
    // What this session did a moment ago may still be queued.
    runtime.journal.flush().await;
    let lines = runtime
        .journal
        .read(move |connection| trajectory::memory(connection, &session, Some(&caller), last.min(memory::MOST)))
        .await?;
    let said: Vec<String> = lines.iter().map(ToString::to_string).collect();
    let mut facts = json!({ "calls": said.len(), "lines": said });
    if lines.iter().any(|line| line.untrusted) {
        facts["untrusted"] = true.into();
    }
    Ok(facts)
}

/// Answers a call of a built-in tool, by its place in the table.
pub(crate) async fn answer(place: usize, runtime: &Runtime, asked: Asked<'_>) -> Result<Output, Error> {
    let facts = (TOOLS[place].answer)(runtime, asked).await?;
    Ok(Output { data: Some(facts.to_string()), content: Vec::new(), metadata: None })
}

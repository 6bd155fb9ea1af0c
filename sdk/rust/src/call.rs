//! What does a tool know of its call besides the arguments, and what can it say meanwhile?

use crate::bindings::exports::hermes::tool::tool_execution as contract;

/// The circumstances of one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Unique for each call; the same for all attempts at it.
    pub id: String,
    /// 1 for the first attempt.
    pub attempt: u32,
    /// Milliseconds until the runtime ends this attempt, counted from its beginning.
    pub deadline_ms: u64,
    /// What the agent says it is working on. Ranks results, decides nothing.
    pub task: Option<String>,
}

/// How much a line of the log matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Of use while writing the plugin.
    Debug,
    /// Of use to somebody who follows the call.
    Info,
    /// Something was odd; the call goes on.
    Warn,
    /// Something failed.
    Error,
}

/// What the runtime hands to a tool: an argument of this type is written as a reference and is no argument of the caller.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is nothing that the runtime hands to a tool",
    label = "an argument that is a reference is a capability",
    note = "an argument of the caller is owned: write `{Self}` without `&`",
    note = "the runtime hands in `&Call`, `&Files`, `&Programs`, `&Http`, `&Secrets` and `&Tools`"
)]
pub trait Given {
    /// For one call.
    fn given(call: &Call) -> Self;
}

impl Given for Call {
    fn given(call: &Call) -> Call {
        call.clone()
    }
}

impl Call {
    /// A call for a native test.
    pub fn for_test() -> Call {
        Call { id: "test".into(), attempt: 1, deadline_ms: 30_000, task: None }
    }

    pub(crate) fn of(context: contract::Call) -> (String, String, Call) {
        let contract::Call { tool, args, context } = context;
        let call = Call {
            id: context.call_id,
            attempt: context.attempt,
            deadline_ms: context.deadline_ms,
            task: context.task,
        };
        (tool, args, call)
    }

    /// Tells the caller how far the call has come, in any unit.
    pub fn progress(&self, done: u64, total: Option<u64>, message: &str) {
        #[cfg(target_arch = "wasm32")]
        {
            use crate::bindings::hermes::tool::{progress, types::ProgressUpdate};
            let message = (!message.is_empty()).then(|| message.to_owned());
            progress::report(&ProgressUpdate { done, total, message });
        }
        #[cfg(not(target_arch = "wasm32"))]
        crate::native::note(|world| world.progress.push((done, total, message.to_owned())));
    }

    /// Hands over a part of the answer that is there already. Whoever waits sees it while the call goes on; what the tool
    /// returns has to have it, too.
    pub fn partial(&self, text: &str) {
        #[cfg(target_arch = "wasm32")]
        crate::bindings::hermes::tool::progress::partial(text);
        #[cfg(not(target_arch = "wasm32"))]
        crate::native::note(|world| world.parts.push(text.to_owned()));
    }

    /// Whether nobody waits for the answer any more. A tool whose manifest has `grace_ms` looks now and then, puts away what
    /// it has begun, and returns; it is ended when that time is over.
    pub fn is_cancelled(&self) -> bool {
        #[cfg(target_arch = "wasm32")]
        {
            crate::bindings::hermes::tool::progress::cancelled()
        }
        #[cfg(not(target_arch = "wasm32"))]
        crate::native::note(|world| world.cancelled)
    }

    /// Writes a line into the call's log, which people see and agents do not.
    pub fn log(&self, level: Level, message: &str) {
        #[cfg(target_arch = "wasm32")]
        {
            use crate::bindings::hermes::tool::log;
            let level = match level {
                Level::Debug => log::Level::Debug,
                Level::Info => log::Level::Info,
                Level::Warn => log::Level::Warn,
                Level::Error => log::Level::Error,
            };
            log::write(level, message);
        }
        #[cfg(not(target_arch = "wasm32"))]
        crate::native::note(|world| world.log.push((level, message.to_owned())));
    }
}

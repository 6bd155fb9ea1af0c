//! Where else does a component run? An embedding program adds a profile beside `in-process` and `process`: it is given the
//! component, the call and its limits, and runs them. Must not know how the runtime runs one itself.

use crate::call::Progress;
use crate::cancel::Held;
use crate::envelope::Usage;
use crate::error::{Error, Kind, Step};
use crate::sandbox::describe::Description;
use crate::sandbox::limits::Limits;
use crate::sandbox::{Answer, Ask, Ended, Order, Output, Sandbox, Worker, drive};
use std::collections::BTreeSet;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;
use tokio::io::{AsyncRead, AsyncWrite};

/// The argument with which a program that calls [`helper_main`](crate::helper_main) runs a component for another one: over
/// its standard input and output, as [`Job::over`] speaks with it.
pub const WORK: &str = crate::sandbox::WORK;

/// Where a component runs, as the embedding program has it: under another user, in a container, on another machine. An
/// adapter asks for it with `[sandbox] profile = "NAME"`.
///
/// ```no_run
/// use hermes_runtime::profile::{self, Job, Profile, Running};
/// use std::process::Stdio;
///
/// /// Each call in a process of its own that everything else comes before.
/// struct Nice;
///
/// impl Profile for Nice {
///     fn accept(&self, _: &[u8], capabilities: &std::collections::BTreeSet<String>) -> Result<(), String> {
///         profile::reaches_across(capabilities)
///     }
///
///     fn run<'a>(&'a self, job: Job<'a>) -> Running<'a> {
///         Box::pin(async move {
///             let mut command = tokio::process::Command::new("nice");
///             command.arg("/usr/local/bin/my-program").arg(profile::WORK).kill_on_drop(true);
///             match command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn() {
///                 Ok(mut child) => job.over(child.stdout.take().unwrap(), child.stdin.take().unwrap()).await,
///                 Err(error) => profile::Done::unavailable(format!("`nice` cannot be run: {error}")),
///             }
///         })
///     }
/// }
/// ```
pub trait Profile: Send + Sync {
    /// Looks at a component when it is loaded. What it asks for and does not get here is a reason to refuse it: without a
    /// word, a component that asks for any capability is refused.
    ///
    /// # Errors
    /// Why it cannot run here, as the rest of a sentence that begins with the component.
    fn accept(&self, component: &[u8], capabilities: &BTreeSet<String>) -> Result<(), String> {
        let _ = component;
        capabilities.first().map_or(Ok(()), |asked| {
            Err(format!("asks for the capability `{asked}`, and the profile that it asks for offers none"))
        })
    }

    /// Runs one attempt. It is dropped at the attempt's end and when nobody waits, and then nothing of it may be left.
    fn run<'a>(&'a self, job: Job<'a>) -> Running<'a>;
}

/// What comes of a job, once it is there.
pub type Running<'a> = Pin<Box<dyn Future<Output = Done> + Send + 'a>>;

/// Whether all of some capabilities reach a component that runs elsewhere as [`Job::over`] has it.
///
/// # Errors
/// The first one that does not, as the rest of a sentence.
pub fn reaches_across(capabilities: &BTreeSet<String>) -> Result<(), String> {
    crate::sandbox::reaches_across(capabilities)
}

/// What is asked of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question<'a> {
    /// To run a tool: its name in the component, and its arguments as JSON.
    Call {
        /// The tool's name in the component.
        tool: &'a str,
        /// Its arguments, a JSON object.
        args: &'a str,
    },
    /// Whether calls can succeed now.
    Health,
    /// What it is.
    Description,
}

/// One thing to do. Lifetime: the attempt.
pub struct Job<'a> {
    pub(crate) worker: &'a Worker,
    pub(crate) sandbox: &'a Sandbox,
    pub(crate) order: Order<'a>,
}

impl Job<'_> {
    /// What is asked.
    pub fn question(&self) -> Question<'_> {
        match &self.order.ask {
            Ask::Call(call) => Question::Call { tool: &call.tool, args: &call.args },
            Ask::Health => Question::Health,
            Ask::Description => Question::Description,
        }
    }

    /// The component, binary.
    pub fn component(&self) -> &[u8] {
        self.worker.component()
    }

    /// What it may use up. Whoever runs it keeps them.
    pub fn limits(&self) -> &Limits {
        self.order.limits
    }

    /// When it is ended.
    pub fn until(&self) -> Instant {
        self.order.until
    }

    /// Tells whoever waits how far it is.
    pub fn progress(&self, update: Progress) {
        if let Some(listener) = &self.order.progress {
            listener.update(update);
        }
    }

    /// Whether nobody waits for the answer any more. A tool whose manifest gives it time to clean up then has that time, and
    /// is ended after it.
    pub fn is_cancelled(&self) -> bool {
        self.order.held.is_some_and(Held::is_told)
    }

    /// Lets a process run it that speaks over two pipes: a program that calls [`helper_main`](crate::helper_main) and was
    /// started with [`WORK`], of the same version and on the same kind of machine. It keeps the limits; capabilities stay
    /// here and are asked over the pipes. Whoever started the process ends it.
    pub async fn over<I, O>(self, input: I, output: O) -> Done
    where
        I: AsyncRead + Unpin + Send,
        O: AsyncWrite + Unpin + Send,
    {
        Done(drive(self.worker, self.sandbox, self.order, input, output).await)
    }
}

/// What came of a job.
pub struct Done(pub(crate) Result<Ended, Error>);

impl Done {
    fn answered(answer: Answer) -> Done {
        Done(Ok(Ended { answer, usage: Usage::default(), log: Vec::new() }))
    }

    /// The tool did what it was asked.
    pub fn returned(output: Output) -> Done {
        Done::answered(Answer::Returned(Ok(output)))
    }

    /// Calls can succeed.
    pub fn healthy() -> Done {
        Done::answered(Answer::Healthy(Ok(())))
    }

    /// What the component is.
    pub fn described(description: Description) -> Done {
        Done::answered(Answer::Described(description))
    }

    /// The component broke off. `insides` are for the log.
    pub fn broke(insides: String) -> Done {
        Done::answered(Answer::Broke(Kind::Trap, None, Some(insides)))
    }

    /// There is no place where it could run now; the message is for the caller.
    pub fn unavailable(message: String) -> Done {
        Done(Err(Error::new(Step::Sandbox, Kind::Unavailable, message)))
    }

    /// With what it used up.
    #[must_use]
    pub fn usage(mut self, usage: Usage) -> Done {
        if let Ok(ended) = &mut self.0 {
            ended.usage = usage;
        }
        self
    }

    /// With lines of its log.
    #[must_use]
    pub fn log(mut self, log: Vec<String>) -> Done {
        if let Ok(ended) = &mut self.0 {
            ended.log = log;
        }
        self
    }
}

/// A profile by its name.
#[derive(Clone)]
pub struct Named {
    /// The word in `adapter.toml`.
    pub name: Arc<str>,
    pub(crate) profile: Arc<dyn Profile>,
}

impl Named {
    pub(crate) fn new(name: &str, profile: impl Profile + 'static) -> Named {
        Named { name: name.into(), profile: Arc::new(profile) }
    }
}

impl fmt::Debug for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Named").field("name", &self.name).finish_non_exhaustive()
    }
}

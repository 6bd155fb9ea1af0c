//! What does one call leave behind? Notes each step as it ends, and hands over exactly one outcome, also when the call is
//! dropped. Must not know how records are stored.

use crate::call::{Caller, Situation};
use crate::envelope::Durability;
use crate::error::{Error, Kind, Step};
use crate::journal::{Claim, Message, Writing, now_ms, unavailable, wait_for_disk};
use crate::measure::Measures;
use crate::record::{Facts, Kept, Record, RecordKind, StepEntry, Written};
use crate::tape::Recorded;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};
use tracing::Span;
use tracing::field::Empty;

/// What is known about a call before the first step.
#[derive(Clone, Debug)]
pub(crate) struct TrailStart {
    pub(crate) call_id: Arc<str>,
    pub(crate) caller: Arc<Caller>,
    pub(crate) session: Arc<str>,
    pub(crate) situation: Arc<Situation>,
    /// The call within which it is made.
    pub(crate) parent: Option<Arc<str>>,
    /// What a tracing subscriber sees of the call.
    pub(crate) span: Span,
    /// What a monitor sees of all calls.
    pub(crate) measures: Arc<Measures>,
}

/// The trail that one call leaves. Lifetime: the call. Dropped before its end, it records that the call was
/// cancelled.
pub(crate) struct Trail {
    place: Option<mpsc::OwnedPermit<Message>>,
    writing: Writing,
    began: Instant,
    step_began: Instant,
    start: TrailStart,
    pub(crate) facts: Box<Facts>,
    /// The canonical arguments, once they were found right.
    pub(crate) args: Option<Arc<str>>,
    /// What is kept beside the outcome's record.
    pub(crate) kept: Option<Box<Kept>>,
    steps: Vec<StepEntry>,
    /// The span of the step that runs now.
    open: Option<(Step, Span)>,
    /// What is needed to run the component again.
    tape: Option<Box<Recorded>>,
}

impl Trail {
    /// Keeps what is needed to run the component again, or says why there is no such thing.
    pub(crate) fn keep_tape(&mut self, tape: Result<Box<Recorded>, &'static str>) {
        self.facts.replayable = Some(tape.is_ok());
        match tape {
            Ok(recorded) => self.tape = Some(recorded),
            Err(why) => self.facts.not_replayable = Some(why.into()),
        }
    }

    /// A trail that begins now. `place` is its outcome's place in the writer's queue.
    pub(crate) fn begin(start: TrailStart, place: mpsc::OwnedPermit<Message>, writing: Writing) -> Trail {
        let began = Instant::now();
        Trail {
            place: Some(place),
            writing,
            began,
            step_began: began,
            start,
            facts: Box::default(),
            args: None,
            kept: None,
            tape: None,
            steps: Vec::with_capacity(7),
            open: None,
        }
    }

    /// The call's id.
    pub(crate) fn call_id(&self) -> Arc<str> {
        self.start.call_id.clone()
    }

    /// Begins the span of a step, which ends when the step is noted. What the step does runs in it.
    pub(crate) fn enter(&mut self, step: Step) -> Span {
        // What a caller made up is no name of a tool.
        let tool = self.facts.version.is_some().then_some(&*self.facts.tool);
        let span = span(step, &self.start.call_id, tool);
        self.open = (!span.is_disabled()).then(|| (step, span.clone()));
        span
    }

    /// Ends the span of the step that runs now.
    fn leave(&mut self, step: Step, verdict: &str, us: u64) {
        let Some((entered, span)) = self.open.take() else { return };
        span.record("verdict", verdict);
        span.record("us", us);
        if entered == Step::Registry && self.facts.version.is_some() {
            span.record("tool", &*self.facts.tool);
            self.start.span.record("tool", &*self.facts.tool);
        }
        // Permission asks validation for its preview, and what that says is validation's.
        if entered != step {
            span.record("by", step.name());
        }
    }

    /// Notes what a step said, and passes it on.
    pub(crate) fn step<T>(&mut self, step: Step, said: Result<T, Error>) -> Result<T, Error> {
        match &said {
            Ok(_) => self.note(step, "ok".into(), None),
            Err(error) => self.ended(error),
        }
        said
    }

    /// Notes the failure that ended the call, by the step that it belongs to.
    fn ended(&mut self, error: &Error) {
        let reason = error.reason.as_ref().map(|reason| reason.to_string());
        self.note(error.step, error.kind.name().into(), reason);
    }

    /// Notes that the step after the last one that is noted panicked, and gives what its caller learns.
    pub(crate) fn panicked(&mut self, what: String) -> Error {
        const ALL: [Step; 7] = [
            Step::Registry,
            Step::Adapter,
            Step::Permission,
            Step::Validation,
            Step::Sandbox,
            Step::Result,
            Step::Injection,
        ];
        let reached = self.steps.last().map_or(0, |entry| usize::from(entry.step.number()));
        let error = Error::internal(ALL[reached.min(6)], format!("panicked: {what}"));
        self.ended(&error);
        error
    }

    fn note(&mut self, step: Step, verdict: std::borrow::Cow<'static, str>, reason: Option<String>) {
        let now = Instant::now();
        let preview = self.facts.preview.as_micros() as u64;
        let us = now.duration_since(self.step_began).as_micros() as u64;
        let us = match step {
            Step::Permission => us.saturating_sub(preview),
            Step::Validation if self.steps.iter().any(|entry| entry.step == Step::Permission) => us + preview,
            _ => us,
        };
        tracing::debug!(
            target: "hermes::step", call_id = %self.start.call_id, step = step.name(), verdict = &*verdict, us,
            "a step has ended"
        );
        self.leave(step, &verdict, us);
        self.step_began = now;
        self.steps.push(StepEntry { step, verdict, reason, us });
    }

    /// Notes what the session works on, where the call itself does not say it.
    pub(crate) fn works_on(&mut self, task: Option<String>) {
        if let (None, Some(task)) = (&self.start.situation.task, task) {
            Arc::make_mut(&mut self.start.situation).task = Some(task);
        }
    }

    /// Time since the call arrived.
    pub(crate) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// Writes durably that the call is about to run, if every claim holds; what they take is taken in the same
    /// transaction. Without it nothing with an effect may run.
    pub(crate) async fn intent(&mut self, claims: Vec<Claim>) -> Result<(), Error> {
        let record = self.record(RecordKind::Intent, None);
        self.writing.write(Some(Written::Call(Box::new(record))), claims).await
    }

    /// Writes that another attempt is about to begin, after the last one's failure: durably where the call is.
    pub(crate) async fn attempt(&mut self, number: u32, failed: &Error, durable: bool) -> Result<(), Error> {
        let mut record = self.record(RecordKind::Attempt, None);
        (record.attempt, record.error, record.insides) = (Some(number), Some(failed.clone()), failed.log.clone());
        let entry = Written::Call(Box::new(record));
        match durable {
            true => self.writing.write(Some(entry), Vec::new()).await,
            false => self.writing.queue(entry),
        }
    }

    /// Refuses early when the journal is known to fail, which spares a call with an effect the wait.
    pub(crate) fn refuse_if_failing(&self) -> Result<(), Error> {
        match self.writing.is_failing() {
            true => Err(unavailable("its last write failed")),
            false => Ok(()),
        }
    }

    /// Writes the outcome: waits for the disk if `durable`, else hands it to the writer.
    pub(crate) async fn finish(mut self, code: u16, error: Option<&Error>, durable: bool) -> Durability {
        let began = Instant::now();
        let record = self.record(RecordKind::Outcome, Some((code, error)));
        let durability = self.hand_over(record, durable).await;
        self.start.measures.injected(began.elapsed());
        durability
    }

    async fn hand_over(&mut self, mut record: Record, durable: bool) -> Durability {
        let Some(place) = self.place.take() else {
            return Durability::Failed;
        };
        let room = self.writing.room.make(&mut record);
        if !durable {
            place.send(Message::outcome(record, None, room));
            return Durability::Queued;
        }
        let (written, waiting) = oneshot::channel();
        place.send(Message::outcome(record, Some(written), room));
        match wait_for_disk(waiting).await {
            Ok(()) => Durability::Durable,
            Err(_) => {
                self.start.measures.unwritten();
                Durability::Failed
            }
        }
    }

    fn record(&mut self, kind: RecordKind, outcome: Option<(u16, Option<&Error>)>) -> Record {
        let last = matches!(kind, RecordKind::Outcome);
        let error = outcome.and_then(|(_, error)| error);
        let mut record = Record {
            kind,
            call_id: self.start.call_id.clone(),
            attempt: None,
            time_ms: now_ms(),
            caller: self.start.caller.clone(),
            session: self.start.session.clone(),
            situation: self.start.situation.clone(),
            parent: self.start.parent.clone(),
            facts: if last { std::mem::take(&mut self.facts) } else { self.facts.clone() },
            steps: if last { std::mem::take(&mut self.steps) } else { self.steps.clone() },
            code: outcome.map(|(code, _)| code),
            error: error.cloned(),
            insides: error.and_then(|error| error.log.clone()),
            duration_us: self.elapsed().as_micros() as u64,
            kept: if last { self.kept.take() } else { None },
            tape: if last { self.tape.take() } else { None },
        };
        if last {
            if let Some(code) = record.code {
                self.start.span.record("code", code);
            }
            self.start.measures.note(&record);
        }
        self.writing.mask(&mut record);
        record
    }
}

/// A step's span: which call, which tool, and once it is over what the step said. Never arguments, and nothing a caller
/// wrote: whoever listens may keep it anywhere.
fn span(step: Step, call_id: &str, tool: Option<&str>) -> Span {
    macro_rules! named {
        ($name:literal) => {
            tracing::debug_span!(
                target: "hermes::step", $name, call_id, tool, verdict = Empty, by = Empty, us = Empty
            )
        };
    }
    match step {
        Step::Registry => named!("registry"),
        Step::Adapter => named!("adapter"),
        Step::Permission => named!("permission"),
        Step::Validation => named!("validation"),
        Step::Sandbox => named!("sandbox"),
        Step::Result => named!("result"),
        Step::Injection => named!("injection"),
    }
}

impl Drop for Trail {
    fn drop(&mut self) {
        if self.place.is_none() {
            return;
        }
        let error = match std::thread::panicking() {
            true => Error::internal(Step::Sandbox, "a step panicked"),
            false => Error::new(Step::Sandbox, Kind::Cancelled, "the caller gave up"),
        };
        self.ended(&error);
        let mut record = self.record(RecordKind::Outcome, Some((error.code, Some(&error))));
        let room = self.writing.room.make(&mut record);
        if let Some(place) = self.place.take() {
            place.send(Message::outcome(record, None, room));
        }
    }
}

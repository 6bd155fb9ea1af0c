//! What does this process do while a component runs in another one? It hands over the call and the code, answers what the
//! component asks of its capabilities, passes on what it tells, and ends with the attempt. Must not run the component.

use super::wire::{self, ANSWERED, ASKED, CANCELLED, Pieces, REFUSED, SAID};
use super::{Ended, LATE, Order, Said, Task, Worker, broke, crossing};
use crate::call::Progress;
use crate::cancel::Held;
use crate::document::excerpt;
use crate::error::{Error, Step};
use crate::sandbox::limits::Limits;
use crate::sandbox::{Listener, Sandbox, failure};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};

/// Longest line of a log, longest message of progress and longest part of an answer that are taken, in bytes.
const LINE: usize = 16 << 10;
const MESSAGE: usize = 500;
const PART: usize = 16 << 10;
/// What a question may have beside what a component may hand over in one call, in bytes.
const BESIDE: usize = 64 << 10;

/// When the wait for a component ends, and whether it was told that nobody waits for it.
pub(super) struct Watch<'a> {
    held: Option<&'a Held>,
    grace: Duration,
    told: bool,
    end: Instant,
}

/// What came first.
pub(super) enum During<T> {
    Came(T),
    /// Nobody waits any more. Said once.
    Told,
    Over,
}

impl<'a> Watch<'a> {
    pub(super) fn new(order: &Order<'a>, late: Duration) -> Watch<'a> {
        Watch { held: order.held, grace: order.grace, told: false, end: order.until + late }
    }

    /// Waits for something that can be waited for again.
    pub(super) async fn during<T>(&mut self, what: impl Future<Output = T>) -> During<T> {
        let held = self.held.filter(|_| !self.told);
        let told = async {
            match held {
                Some(held) => held.told().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            came = what => During::Came(came),
            () = told => {
                self.told = true;
                self.end = self.end.min(Instant::now() + self.grace);
                During::Told
            }
            () = tokio::time::sleep_until(self.end.into()) => During::Over,
        }
    }
}

/// Speaks with the process that runs a component, until that has ended. Dropping the future ends nothing by itself: whoever
/// started the process ends it.
///
/// # Errors
/// The process says what nobody understands, or ends without a word; a capability's limit was hit.
pub(crate) async fn drive<I, O>(
    worker: &Worker,
    sandbox: &Sandbox,
    mut order: Order<'_>,
    input: I,
    mut output: O,
) -> Result<Ended, Error>
where
    I: AsyncRead + Unpin + Send,
    O: AsyncWrite + Unpin + Send,
{
    let mut watch = Watch::new(&order, LATE);
    let mut pieces = Pieces::new(input);
    let task = task(worker, sandbox, &order)?;
    let head = serde_json::to_vec(&task).map_err(|error| Error::internal(Step::Sandbox, error))?;
    let component: &[u8] = if worker.by_functions { &worker.component } else { &[] };
    let begin = [wire::piece(SAID, &[&head]), component.to_vec(), worker.code.clone()].concat();
    match watch.during(send(&mut output, begin)).await {
        During::Came(()) => {}
        // It has not begun, so there is nothing to put away.
        During::Told | During::Over => return Ok(Ended::late()),
    }
    loop {
        let (kind, content) = match watch.during(pieces.next()).await {
            During::Came(piece) => piece?.ok_or_else(|| broke("its process ended without an answer".into()))?,
            During::Told => {
                send(&mut output, wire::piece(CANCELLED, &[])).await;
                continue;
            }
            During::Over => return Ok(Ended::late()),
        };
        match kind {
            SAID => {
                let said = serde_json::from_slice(&content)
                    .map_err(|error| broke(format!("its process says what nobody understands: {error}")))?;
                match said {
                    Said::Progress(update) => pass_on(order.progress.as_ref(), update).await,
                    Said::Ended(mut ended) => {
                        ended.usage.bytes_across += order.here.data().meter.bytes;
                        return Ok(bounded(*ended, order.limits));
                    }
                }
            }
            ASKED => {
                let (name, args) = wire::asked(&content).ok_or_else(|| broke("its process asks for nothing".into()))?;
                let mut is_told = false;
                let answered = {
                    let mut answering = std::pin::pin!(answer(worker, sandbox, &mut order, name, args));
                    loop {
                        match watch.during(answering.as_mut()).await {
                            During::Came(answered) => break answered,
                            During::Told => is_told = true,
                            During::Over => return Ok(Ended::late()),
                        }
                    }
                };
                if is_told {
                    send(&mut output, wire::piece(CANCELLED, &[])).await;
                }
                let answer = match answered? {
                    Ok(answer) => wire::piece(ANSWERED, &[&answer]),
                    Err(why) => wire::piece(REFUSED, &[why.as_bytes()]),
                };
                send(&mut output, answer).await;
            }
            other => return Err(broke(format!("its process says something of kind {other}"))),
        }
    }
}

/// One that does not listen is not waited for: what it says, or that it says nothing, is what counts.
async fn send(output: &mut (impl AsyncWrite + Unpin), bytes: Vec<u8>) {
    let sent = async {
        output.write_all(&bytes).await?;
        output.flush().await
    };
    if let Err(error) = sent.await {
        tracing::debug!(%error, "a process that runs a component does not listen");
    }
}

fn task(worker: &Worker, sandbox: &Sandbox, order: &Order<'_>) -> Result<Task, Error> {
    let left = order.until.saturating_duration_since(Instant::now());
    Ok(Task {
        ask: order.ask.clone(),
        limits: *order.limits,
        left_ms: u64::try_from(left.as_millis()).unwrap_or(u64::MAX),
        seed: order.seed,
        fixed: order.fixed.cloned(),
        memory: sandbox.compiler.memory,
        capabilities: worker.capabilities.clone(),
        authorities: sandbox.embedder.texts(&worker.capabilities),
        by_functions: worker.by_functions,
        component: if worker.by_functions { worker.component.len() } else { 0 },
        code: worker.code.len(),
    })
}

/// What a capability answers; in it why there is no answer, which ends the component in its process.
///
/// # Errors
/// A limit that was hit here, which ends the attempt whatever its process makes of it.
async fn answer(
    worker: &Worker,
    sandbox: &Sandbox,
    order: &mut Order<'_>,
    name: &str,
    args: &[u8],
) -> Result<Result<Vec<u8>, String>, Error> {
    let limits = order.limits;
    let state = order.here.data_mut();
    // It counts them, too, and is not to be believed.
    let counted = state.meter.count_host_call().and_then(|()| {
        let most = limits.host_call_bytes.saturating_add(BESIDE);
        if args.len() > most { Err(state.meter.stop(crate::error::Kind::HostCallLimit)) } else { Ok(()) }
    });
    let answered = match counted {
        Ok(()) => crossing::answer(state, &sandbox.embedder, &worker.capabilities, name, args).await,
        Err(error) => Err(error),
    };
    match answered {
        Ok(answer) => Ok(Ok(answer)),
        Err(error) if state.meter.hit.is_some() || error.is::<Error>() => {
            let failed = failure::from_trap("", state.meter.hit, limits, &error);
            Err(failed.unwrap_or_else(|| broke(format!("{error:#}"))))
        }
        Err(error) => Ok(Err(excerpt(&format!("{error:#}"), LINE))),
    }
}

/// What is told is bounded: whoever breaks out of WebAssembly could say anything.
async fn pass_on(listener: Option<&Listener>, update: Progress) {
    let Some(listener) = listener else { return };
    let message = update.message.map(|message| excerpt(&message, MESSAGE));
    let update = Progress { message, ..update };
    match update.part.as_ref().map(String::len) {
        None => listener.update(update),
        Some(length) if length <= PART => listener.part(update).await,
        Some(_) => {}
    }
}

fn bounded(mut ended: Ended, limits: &Limits) -> Ended {
    ended.usage.fuel = ended.usage.fuel.min(limits.fuel);
    ended.log.truncate(limits.log_lines.saturating_add(2));
    let mut room = limits.log.saturating_mul(2).saturating_add(LINE);
    ended.log.retain_mut(|line| {
        *line = excerpt(line, LINE.min(room));
        room = room.saturating_sub(line.len());
        room > 0
    });
    ended
}

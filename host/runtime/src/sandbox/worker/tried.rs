//! What comes of an attempt that ran in another process? What its component answered, as what an attempt in this process
//! comes to. Must not know how the two processes speak.

use super::{Answer, Ended, Order, Worker};
use crate::cancel::Held;
use crate::error::Kind;
use crate::sandbox::attempt::{Bound, Tried};
use crate::sandbox::{Ready, Run, Sandbox, failure};

/// One attempt in a process of its own.
pub(crate) async fn tried(
    sandbox: &Sandbox,
    worker: &Worker,
    order: Order<'_>,
    (component, run, bound): (&Ready, &Run<'_>, Bound),
) -> Tried {
    let (limits, held) = (order.limits, order.held);
    let Ended { answer, mut usage, log } = match worker.run(sandbox, order).await {
        Ok(ended) => ended,
        Err(error) => return Tried { sent: !component.capabilities.is_empty(), ..Tried::refused(error) },
    };
    usage.attempts = 1;
    let can_send = !component.capabilities.is_empty();
    let (outcome, partial, sent) = match answer {
        _ if held.is_some_and(Held::is_told) => (Err(failure::cancelled(run.tool)), None, can_send),
        Answer::Returned(Ok(output)) => (failure::within_limits(output, limits), None, can_send),
        Answer::Returned(Err(error)) => {
            let sent = error.request_sent && can_send;
            let (outcome, partial) = failure::from_guest(error, limits);
            (outcome, partial, sent)
        }
        Answer::Broke(kind, reason, insides) => {
            (Err(failure::told(&run.tool.name, limits, kind, reason, insides)), None, can_send)
        }
        Answer::Late => (Err(failure::timed_out(run.tool, bound.kind, bound.time)), None, can_send),
        Answer::Healthy(_) | Answer::Described(_) => {
            (Err(failure::told(&run.tool.name, limits, Kind::Trap, None, None)), None, can_send)
        }
    };
    Tried { outcome, partial, usage, log, sent, tape: Err("it ran in a process of its own") }
}

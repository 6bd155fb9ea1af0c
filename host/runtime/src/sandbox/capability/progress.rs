//! How far a call has come, and what of its answer is there already, told to whoever waits for it; and whether anybody
//! waits. Updates that come too fast are dropped; parts of the answer wait a little.

use crate::call::Progress;
use crate::cancel::Cancel;
use crate::document::{excerpt, floor_char_boundary};
use crate::error::Kind;
use crate::record::Masking;
use crate::sandbox::State;
use crate::sandbox::bindings::hermes::tool::progress::Host;
use crate::sandbox::bindings::hermes::tool::types::ProgressUpdate;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::Sender;

/// Longest message, in bytes.
const MESSAGE: usize = 500;
/// Longest piece in which a part of the answer is handed over, in bytes: a line of a client's protocol holds it easily.
const PIECE: usize = 16 << 10;
/// How long a part waits for a caller that has not taken those before it. A caller that reads nothing misses parts; the
/// answer has them all, and no tool stands still for somebody who does not look.
const PATIENCE: Duration = Duration::from_secs(2);

/// Whoever waits for a call's answer and wants to hear of it before. What is told has no secret that can be seen in it.
/// Lifetime: the call.
#[derive(Clone)]
pub(crate) struct Listener {
    to: Sender<Progress>,
    masking: Arc<Masking>,
}

impl Listener {
    pub(crate) fn new(to: Sender<Progress>, masking: Arc<Masking>) -> Listener {
        Listener { to, masking }
    }

    /// Tells how far the call is, unless updates come too fast.
    pub(crate) fn update(&self, update: Progress) {
        let _ = self.to.try_send(self.masked(update));
    }

    /// Hands over a part of the answer.
    pub(crate) async fn part(&self, update: Progress) {
        let _ = tokio::time::timeout(PATIENCE, self.to.send(self.masked(update))).await;
    }

    fn masked(&self, update: Progress) -> Progress {
        let mask = |text: String| (self.masking)(&text).unwrap_or(text);
        let Progress { done, total, message, part } = update;
        Progress { done, total, message: message.map(mask), part: part.map(mask) }
    }
}

impl Host for State {
    fn report(&mut self, update: ProgressUpdate) -> wasmtime::Result<()> {
        self.reported = (update.done, update.total);
        if let Some(listener) = &self.progress {
            let message = update.message.map(|message| excerpt(&message, MESSAGE));
            listener.update(Progress { done: update.done, total: update.total, message, part: None });
        }
        Ok(())
    }

    async fn partial(&mut self, text: String) -> wasmtime::Result<()> {
        let Some(left) = self.meter.output_left.checked_sub(text.len()) else {
            return Err(self.meter.stop(Kind::OutputLimit));
        };
        self.meter.output_left = left;
        let Some(listener) = self.progress.clone() else { return Ok(()) };
        let (done, total) = self.reported;
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(floor_char_boundary(rest, PIECE));
            listener.part(Progress { done, total, message: None, part: Some(piece.to_owned()) }).await;
            rest = after;
        }
        Ok(())
    }

    fn cancelled(&mut self) -> wasmtime::Result<bool> {
        Ok(self.cancel.as_ref().is_some_and(Cancel::is_told))
    }
}

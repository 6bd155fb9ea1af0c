//! How far a call has come, told to whoever waits for it, and whether anybody waits. Updates that come too fast are
//! dropped.

use crate::call::Progress;
use crate::cancel::Cancel;
use crate::document::excerpt;
use crate::sandbox::State;
use crate::sandbox::bindings::hermes::tool::progress::Host;
use crate::sandbox::bindings::hermes::tool::types::ProgressUpdate;

/// Longest message, in bytes.
const MESSAGE: usize = 500;

impl Host for State {
    fn report(&mut self, update: ProgressUpdate) -> wasmtime::Result<()> {
        if let Some(listener) = &self.progress {
            let message = update.message.map(|message| excerpt(&message, MESSAGE));
            let _ = listener.try_send(Progress { done: update.done, total: update.total, message });
        }
        Ok(())
    }

    fn cancelled(&mut self) -> wasmtime::Result<bool> {
        Ok(self.cancel.as_ref().is_some_and(Cancel::is_told))
    }
}

//! Who is told how far a request is? A server may report before the sender of the request has learnt its token, so what
//! comes early is kept a little. Must not know what is asked.

use crate::call::Progress;
use crate::document::excerpt;
use crate::sandbox::Listener;
use crate::sandbox::capability::invoke::back::without_tokens;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Longest message of a progress report, in bytes.
const MESSAGE: usize = 500;
/// Reports that are kept for requests that nobody listens for yet.
const EARLY: usize = 32;

/// The listeners of one connection, by token.
#[derive(Default)]
pub(super) struct Listeners(Mutex<Told>);

#[derive(Default)]
struct Told {
    by_token: HashMap<ProgressToken, Listener>,
    early: VecDeque<(ProgressToken, Progress)>,
}

impl Listeners {
    /// Somebody listens from now on, and hears what came before.
    pub(super) fn add(&self, token: &ProgressToken, listener: Listener) {
        let mut told = self.lock();
        for (_, update) in told.early.iter().filter(|(early, _)| early == token) {
            listener.update(update.clone());
        }
        told.early.retain(|(early, _)| early != token);
        told.by_token.insert(token.clone(), listener);
    }

    /// The request is over.
    pub(super) fn remove(&self, token: &ProgressToken) {
        let mut told = self.lock();
        told.by_token.remove(token);
        told.early.retain(|(early, _)| early != token);
    }

    /// Tells whoever listens. What nobody takes is left out.
    pub(super) fn pass_on(&self, progress: ProgressNotificationParam) {
        let whole = |number: f64| if number.is_finite() { number.max(0.0) as u64 } else { 0 };
        let message = progress.message.map(|message| excerpt(&without_tokens(&message), MESSAGE));
        let update = Progress { done: whole(progress.progress), total: progress.total.map(whole), message, part: None };
        let mut told = self.lock();
        match told.by_token.get(&progress.progress_token) {
            Some(listener) => listener.update(update),
            None => {
                told.early.push_back((progress.progress_token, update));
                let over = told.early.len().saturating_sub(EARLY);
                told.early.drain(..over);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Told> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rmcp::model::NumberOrString;

    fn report(token: i64, done: f64) -> ProgressNotificationParam {
        ProgressNotificationParam::new(ProgressToken(NumberOrString::Number(token)), done)
    }

    #[test]
    fn what_comes_before_anybody_listens_is_heard_and_what_nobody_hears_is_bounded() {
        let listeners = Listeners::default();
        for number in 0..1000 {
            listeners.pass_on(report(1, f64::from(number)));
        }
        listeners.pass_on(report(2, 7.0));
        let (sender, mut receiver) = tokio::sync::mpsc::channel(100);
        let listener = Listener::new(sender, std::sync::Arc::new(crate::sandbox::capability::progress::Unmasked));
        listeners.add(&ProgressToken(NumberOrString::Number(2)), listener);
        listeners.pass_on(report(2, 8.0));
        assert_eq!([receiver.try_recv().unwrap().done, receiver.try_recv().unwrap().done], [7, 8]);
        assert!(receiver.try_recv().is_err());
        assert_eq!(listeners.lock().early.len(), EARLY - 1);
    }
}

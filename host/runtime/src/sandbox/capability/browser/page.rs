//! What is asked of a tab's page, and of a tab without asking its page? What an answer means for a caller is the
//! component's business.

use super::running::lock;
use super::tab::Tab;
use super::world::Room;
use super::{Event, Failure, Reason, Speaker, TabState, Tabs, Used, failure, launch, wit};
use chromiumoxide::cdp::js_protocol::runtime::TerminateExecutionParams;
use chromiumoxide::types::Command;
use serde::de::DeserializeOwned;
use std::time::{Duration, Instant};

/// For what only the attempt's own end limits.
pub(super) const LONG: Duration = Duration::from_secs(24 * 3600);
/// How long one question to a page may take. One that is asked more is busy with itself.
pub(super) const ANSWER: Duration = Duration::from_secs(10);
/// How long a frame may take to say what is in it.
pub(super) const FRAME: Duration = Duration::from_secs(2);

/// A tab as requests to it need it.
pub(super) struct Open {
    pub(super) speaker: Speaker,
    pub(super) session: String,
    pub(super) target: String,
    pub(super) deadline: Instant,
}

impl Open {
    /// Asks the tab's page.
    pub(super) async fn ask<C: Command>(&self, command: C) -> Result<C::Response, Failure> {
        self.ask_in(&self.session, command, ANSWER).await
    }

    /// Asks a part of the page.
    pub(super) async fn ask_in<C: Command>(
        &self,
        session: &str,
        command: C,
        most: Duration,
    ) -> Result<C::Response, Failure> {
        self.ask_for(session, command, most).await
    }

    /// The same for an answer of which only a part is of interest.
    pub(super) async fn ask_for<C: Command, T: DeserializeOwned>(
        &self,
        session: &str,
        command: C,
        most: Duration,
    ) -> Result<T, Failure> {
        let deadline = self.deadline.min(Instant::now() + most);
        let answer = self.speaker.ask_for(Some(session), command, deadline).await;
        if answer.as_ref().is_err_and(|error| error.reason == Reason::TimedOut) {
            // A script that does not end keeps its page from everything else, also from being left.
            self.speaker.tell(Some(session), TerminateExecutionParams::default());
        }
        answer
    }
}

/// An element is named by a number that counts only within its document.
pub(super) fn in_element(error: Failure) -> Failure {
    let gone = ["No node", "Could not find node", "not belong to the document", "Node with given id"];
    match error.reason == Reason::Refused && gone.iter().any(|word| error.message.contains(word)) {
        true => failure(Reason::Gone, "the element is not there any more"),
        false => error,
    }
}

impl Tabs {
    /// Works on the session's room, without waiting.
    pub(super) async fn room<T>(&mut self, work: impl FnOnce(&mut Room) -> Result<T, Failure>) -> Result<T, Failure> {
        let Used { running, key, .. } = self.used().await?;
        let mut world = lock(&running.world);
        let room = world.rooms.get_mut(key);
        work(room.ok_or_else(|| failure(Reason::Crashed, "the session's tabs are gone"))?)
    }

    /// Works on a tab, without waiting.
    pub(super) async fn tab<T>(&mut self, id: u32, work: impl FnOnce(&mut Tab) -> T) -> Result<T, Failure> {
        self.room(|room| match room.tabs.get_mut(&id) {
            Some(tab) => Ok(work(tab)),
            None => Err(failure(Reason::NoSuchTab, format!("no tab has the number {id}"))),
        })
        .await
    }

    pub(super) async fn at(&mut self, id: u32) -> Result<Open, Failure> {
        let deadline = self.deadline;
        let speaker = self.used().await?.running.speaker().clone();
        self.tab(id, |tab| Open { speaker, session: tab.session.clone(), target: tab.target.clone(), deadline }).await
    }

    pub(super) async fn tabs(&mut self) -> Result<Vec<wit::Tab>, Failure> {
        self.room(|room| {
            let current = room.current;
            let told = |tab: &Tab| wit::Tab {
                id: tab.id,
                url: tab.url.clone(),
                title: tab.title.clone(),
                opener: tab.opener,
                current: current == Some(tab.id),
            };
            Ok(room.tabs.values().map(told).collect())
        })
        .await
    }

    pub(super) async fn state(&mut self, id: u32) -> Result<TabState, Failure> {
        self.tab(id, |tab| tab.state()).await
    }

    pub(super) async fn events(&mut self, id: u32) -> Result<Vec<Event>, Failure> {
        self.room(|room| {
            let mut events = room.tabs.get_mut(&id).map(|tab| tab.news.take()).unwrap_or_default();
            events.extend(room.news.take());
            Ok(events)
        })
        .await
    }

    pub(super) async fn ready(&mut self) -> Result<(), Failure> {
        launch::program(&self.browsers.settings).map(drop)
    }
}

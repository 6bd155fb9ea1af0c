//! How does a tab come and go, and where may it go? What is let through here is checked again when the browser asks for
//! it, together with all that it leads to.

use super::page::{FRAME, LONG};
use super::{Failure, Reason, Tabs, failure, wit};
use crate::address::{Host, Reach};
use chromiumoxide::cdp::browser_protocol::browser::BrowserContextId;
use chromiumoxide::cdp::browser_protocol::page::{
    GetNavigationHistoryParams, NavigateParams, NavigateToHistoryEntryParams, SetLifecycleEventsEnabledParams,
    StopLoadingParams,
};
use chromiumoxide::cdp::browser_protocol::target::{CloseTargetParams, CreateTargetParams};
use chromiumoxide::cdp::js_protocol::runtime::{EvaluateParams, TerminateExecutionParams, TimeDelta};
use std::time::{Duration, Instant};

/// Longest time that a component can wait for a change at once.
const WAIT: Duration = Duration::from_secs(5);
/// Longest title.
const TITLE: usize = 1000;

impl Tabs {
    pub(super) async fn open(&mut self) -> Result<u32, Failure> {
        let deadline = self.deadline;
        let most = self.browsers.settings.tabs;
        let context = self
            .room(|room| match (room.tabs.len() as u64) < most {
                true => Ok(room.context.clone()),
                false => Err(failure(Reason::TooMany, format!("{most} tabs are open, as many as a session may have"))),
            })
            .await?;
        let used = self.used().await?;
        let browser_context_id = Some(BrowserContextId::new(context));
        let blank = CreateTargetParams { browser_context_id, ..CreateTargetParams::default() };
        let target: String = used.running.speaker().ask(None, blank, deadline).await?.target_id.into();
        // The browser has told of it before it answered.
        let id = self
            .room(|room| {
                let id = room.tabs.values().find(|tab| tab.target == target).map(|tab| tab.id);
                room.current = id.or(room.current);
                id.ok_or_else(|| failure(Reason::TooMany, "the browser opened no tab"))
            })
            .await?;
        self.used().await?.opened.push(id);
        // Asked for a page sooner, it would not tell of it: what was asked of it at its start is answered by now.
        let open = self.at(id).await?;
        open.ask(SetLifecycleEventsEnabledParams::new(true)).await?;
        Ok(id)
    }

    pub(super) async fn select(&mut self, id: u32) -> Result<(), Failure> {
        self.tab(id, |_| ()).await?;
        self.room(|room| {
            room.current = Some(id);
            Ok(())
        })
        .await
    }

    pub(super) async fn close(&mut self, id: u32) -> Result<(), Failure> {
        let open = self.at(id).await?;
        self.room(|room| {
            room.forget(id);
            Ok(())
        })
        .await?;
        open.speaker.ask(None, CloseTargetParams::new(open.target), open.deadline).await.map(drop)
    }

    pub(super) async fn close_session(&mut self) -> Result<(), Failure> {
        self.end().await;
        Ok(())
    }

    pub(super) async fn navigate(&mut self, id: u32, url: String) -> Result<wit::Started, Failure> {
        let url = self.allowed(&url)?;
        let open = self.at(id).await?;
        let page = self.tab(id, |tab| tab.page()).await?;
        let asked = open.ask_in(&open.session, NavigateParams::new(url), LONG).await;
        let answer = match asked {
            Err(late) if late.reason == Reason::TimedOut => {
                open.speaker.tell(Some(&open.session), StopLoadingParams::default());
                return Err(failure(Reason::TimedOut, "the server did not answer in time"));
            }
            answer => answer?,
        };
        let error = answer.error_text.filter(|error| !error.is_empty());
        Ok(wit::Started {
            download: answer.is_download == Some(true),
            same_document: error.is_none() && answer.loader_id.is_none(),
            error,
            page,
        })
    }

    /// The address of a page that the browser may be sent to.
    fn allowed(&self, url: &str) -> Result<String, Failure> {
        let shown = crate::document::excerpt(url, 200);
        let parsed = url::Url::parse(url)
            .map_err(|error| failure(Reason::InvalidArgument, format!("`{shown}` is no address: {error}")))?;
        if parsed.as_str() == "about:blank" {
            return Ok(url.to_owned());
        }
        if !matches!(parsed.scheme(), "http" | "https") {
            let why = format!("`{shown}` is not for the browser: only http and https are");
            return Err(failure(Reason::NotAllowed, why));
        }
        let host = parsed.host_str().and_then(Host::parse);
        let host = host.ok_or_else(|| failure(Reason::InvalidArgument, format!("`{shown}` names no host")))?;
        let port = parsed.port_or_known_default().unwrap_or(80);
        match self.browsers.rules.grants.reach(&host, port) {
            Reach::Public | Reach::Any => Ok(parsed.into()),
            Reach::NotGranted => {
                let why = format!("`{host}` is none of the hosts that the browser may reach");
                Err(failure(Reason::NotAllowed, why))
            }
            Reach::Private => {
                let why = format!("`{host}:{port}` is not public, and the operator has not granted it");
                Err(failure(Reason::NotAllowed, why))
            }
        }
    }

    pub(super) async fn travel(&mut self, id: u32, by: i32) -> Result<bool, Failure> {
        let open = self.at(id).await?;
        let history = open.ask(GetNavigationHistoryParams::default()).await?;
        let wanted = usize::try_from(history.current_index + i64::from(by)).ok();
        let Some(entry) = wanted.and_then(|wanted| history.entries.get(wanted)) else { return Ok(false) };
        open.ask(NavigateToHistoryEntryParams::new(entry.id)).await?;
        Ok(true)
    }

    pub(super) async fn title(&mut self, id: u32) -> Result<String, Failure> {
        let open = self.at(id).await?;
        let (known, is_there) = self.tab(id, |tab| (tab.title.clone(), tab.is_read())).await?;
        if !is_there {
            return Ok(known);
        }
        let asked = EvaluateParams {
            return_by_value: Some(true),
            timeout: Some(TimeDelta::new(FRAME.as_millis() as f64)),
            ..EvaluateParams::new("document.title")
        };
        let told = open.ask_in(&open.session, asked, FRAME).await.ok();
        let told = told.as_ref().and_then(|told| told.result.value.as_ref()?.as_str());
        Ok(told.map_or(known, |told| crate::document::excerpt(told, TITLE)))
    }

    pub(super) async fn wait(&mut self, id: u32, milliseconds: u32) -> Result<bool, Failure> {
        let mut changes = self.tab(id, |tab| tab.changes()).await?;
        let until = (Instant::now() + WAIT.min(Duration::from_millis(milliseconds.into()))).min(self.deadline);
        // A tab that was closed has changed too.
        Ok(tokio::time::timeout_at(until.into(), changes.changed()).await.is_ok())
    }

    pub(super) async fn stop(&mut self, id: u32) -> Result<(), Failure> {
        let open = self.at(id).await?;
        open.speaker.tell(Some(&open.session), StopLoadingParams::default());
        open.speaker.tell(Some(&open.session), TerminateExecutionParams::default());
        Ok(())
    }
}

//! What can be asked of a runtime beside its calls, and what can people change in it? Reads tools, figures and records;
//! what changes something is written down. Part of the spine.

use crate::call::Caller;
use crate::dispatch::Runtime;
use crate::document::Fault;
use crate::error::{Error, Step};
use crate::injection::feedback;
use crate::journal::Journal;
use crate::measure::Now;
use crate::permission::target::path::Places;
use crate::record::Event;
use crate::registry::discovery::{self, Qualities};
use crate::registry::life;
use crate::registry::pinned::{self, Held};
use crate::registry::statistics::{self, By, Use};
use crate::registry::{self, Out, Registry};
use crate::sandbox::{self, Sandbox};
use crate::shelf::StartError;
use crate::toolbox::Toolbox;
use crate::validation::learning;
use crate::{Kind, config::Config};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

impl Runtime {
    /// The tools and adapters in service now, with what is wrong with others that were found.
    pub fn toolbox(&self) -> Arc<Toolbox> {
        self.shelf.get()
    }

    /// How tools were used and how well they worked, as far as it is on disk.
    ///
    /// # Errors
    /// `audit_unavailable` when the journal cannot be read.
    pub async fn statistics(&self, by: By) -> Result<Vec<Use>, Error> {
        self.journal.read(move |connection| statistics::read(connection, by)).await
    }

    /// How well each tool has worked.
    pub(crate) async fn qualities(&self) -> Result<Qualities, Error> {
        self.journal.read(statistics::qualities).await
    }

    /// What counts of a caller's past.
    pub(crate) async fn history(&self, caller: &str) -> Result<crate::record::History, Error> {
        self.memory.history(&self.journal, caller).await
    }

    /// The records, for people who look and decide; no call reaches them.
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Where components run.
    pub(crate) fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    /// Where virtual paths can lead.
    pub(crate) fn places(&self) -> &Places {
        &self.places
    }

    /// The settings in force.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// What the component of an adapter says of itself; `None` if there is no such adapter. Dropping the future ends it.
    pub async fn describe(&self, adapter: &str) -> Option<Result<sandbox::describe::Description, Error>> {
        let linked = self.toolbox().adapters.all().find(|known| &*known.name == adapter)?.linked;
        Some(self.sandbox.describe(&linked).await)
    }

    /// The parts of the operating system's sandbox around programs, or which one is not there.
    pub async fn layers(&self) -> Result<Vec<sandbox::Layer>, String> {
        self.sandbox.layers().await
    }

    /// The browser and the sandbox around it, or what is missing. Starts it if it does not run.
    pub async fn browser(&self) -> Result<Vec<sandbox::Layer>, String> {
        self.sandbox.browser().await
    }

    /// Ends what a session holds beyond its calls. Its history stays.
    pub async fn end_session(&self, caller: &Arc<Caller>, session: &Arc<str>) {
        self.sandbox.end_session(caller, session).await;
    }

    /// Keeps an address that this process listens on from every tool, whatever is granted.
    pub fn listens_on(&self, address: core::net::SocketAddr) {
        self.sandbox.listens_on(address);
    }

    /// How often servers of others said that their resources, and their prompts, are others now: who waits for that lists
    /// them anew when a number has changed.
    #[cfg(feature = "mcp")]
    pub fn told_by_servers(&self) -> (u64, u64) {
        self.sandbox.told_by_servers()
    }

    /// Says where this process speaks the protocol over HTTP, for servers that may call back. A gateway says it; it lets in
    /// whoever shows a token that `call_back` knows.
    #[cfg(feature = "mcp")]
    pub fn serves_at(&self, url: impl Into<String>) {
        self.sandbox.serves_at(url.into());
    }

    /// What a server may do that shows a token of the call that it works for; nothing for a token that counts no more.
    #[cfg(feature = "mcp")]
    pub fn call_back(&self, token: &str) -> Option<sandbox::CallBack> {
        self.sandbox.call_back(token)
    }

    /// Takes what an embedding program knows about a result: which of its texts were used, and whether it was right. The
    /// last word about a call counts, in `results stats`, for `results tune`, and as a reward in exported trajectories.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub async fn report_outcome(&self, call_id: &str, used: &[String], right: bool) -> Result<(), Error> {
        let details = serde_json::json!({ "call_id": call_id, "used": used, "right": right });
        self.journal.note(Event::now(feedback::REPORTED, "embedder", details), Vec::new()).await
    }

    /// The most frequent mistakes with the arguments of one tool, or of all.
    pub async fn argument_mistakes(&self, tool: Option<&str>) -> Result<Vec<learning::Mistake>, Error> {
        let tool = tool.map(str::to_owned);
        self.journal.read(move |tables| learning::mistakes(tables, tool.as_deref())).await
    }

    /// The most frequent forms of a tool's arguments that went well.
    pub async fn argument_templates(&self, tool: &str) -> Result<Vec<learning::Template>, Error> {
        let tool = tool.to_owned();
        self.journal.read(move |tables| learning::templates(tables, &tool)).await
    }

    /// The counts of this process since it began, in the text format of Prometheus: calls by tool and code, durations of
    /// each step, denials by layer, queues, results that were cut. For a program that serves them to its monitor; nothing
    /// without the feature `metrics`.
    pub fn metrics(&self) -> Option<String> {
        let (queued, places, failing) = self.journal.queue();
        let (running, waiting) = self.sandbox.busy();
        self.measures.text(Now { running, waiting, queued, places, failing })
    }

    /// Waits until every record of a finished call is on disk; `false` if one could not be written.
    pub async fn flush(&self) -> bool {
        self.journal.flush().await
    }

    /// Counts the changes of the tools in service: who waits for one lists them anew after it.
    pub fn revision(&self) -> tokio::sync::watch::Receiver<u64> {
        self.shelf.revision()
    }

    /// Reads all folders of plugins and tools again. What only narrows counts at once, what widens waits until a person has
    /// accepted it, what cannot be read stays what it was. Calls that run end on what they began with. Happens by itself
    /// when a folder changes; this is for who cannot wait for it. Takes as long as reading and compiling take.
    ///
    /// # Errors
    /// What keeps everything from being served; then all stays as it is.
    pub fn reload(&self) -> Result<Vec<Fault>, StartError> {
        Ok(self.shelf.reload(&self.sandbox)?)
    }

    /// Accepts what was held back and a person has seen, exactly as it was shown. Who sees and says so is checked where the
    /// person is.
    ///
    /// # Errors
    /// If it cannot be written down, or the folders cannot be read again.
    pub fn accept(&self, held: &[Held]) -> Result<Vec<Fault>, StartError> {
        pinned::accept(&self.config().state_dir, held).map_err(StartError::Lock)?;
        self.reload()
    }

    /// The servers of others whose tools are not what they were when they were accepted, or why one cannot be asked.
    #[cfg(feature = "mcp")]
    pub async fn changed_servers(&self) -> Vec<Result<sandbox::OfferChange, String>> {
        self.sandbox.changed_servers().await
    }

    /// Accepts a server as it was shown to a person. Its tools are listed so from the next start or reload on.
    #[cfg(feature = "mcp")]
    pub fn accept_server(&self, change: sandbox::OfferChange) {
        self.sandbox.accept_server(change);
    }

    /// Tools that fit some words and that a role may call, the best first, each with the reason for its rank.
    ///
    /// # Errors
    /// `audit_unavailable` when the figures cannot be read.
    pub async fn search(&self, role: &str, words: &str, limit: usize) -> Result<Vec<Value>, Error> {
        let qualities = self.qualities().await?;
        let toolbox = self.toolbox();
        let found = discovery::search(&toolbox.registry, role, words, limit, &qualities);
        Ok(found.iter().map(discovery::summary).collect())
    }

    /// What was found about tools that nobody has called for long, by tool.
    ///
    /// # Errors
    /// `audit_unavailable`.
    pub async fn low_use(&self) -> Result<BTreeMap<String, Value>, Error> {
        self.journal.read(life::evaluations).await
    }

    /// Takes a tool out of service, for good or for now, or brings it back. All processes that share the journal follow
    /// within some seconds. Whoever brings one back has to be a person; that is checked where the person is.
    ///
    /// # Errors
    /// `unknown_tool`; `conflict` if it is as it is wanted already; `audit_unavailable`.
    pub async fn set_service(&self, tool: &str, out: Option<Out>, by: &str) -> Result<Arc<str>, Error> {
        let name = named(&self.toolbox().registry, tool)?;
        let now = self.journal.read(life::out).await?.get(&*name).copied();
        if now == out {
            let message =
                format!("`{name}` {}", if out.is_some() { "is out of service already" } else { "is in service" });
            return Err(Error::new(Step::Registry, Kind::Conflict, message));
        }
        self.journal.note(life::changed(&name, out, by), Vec::new()).await?;
        let now = self.journal.read(life::out).await?;
        self.shelf.take_out(&now);
        Ok(name)
    }
}

/// The own name of a tool, also of one that is not in service.
fn named(registry: &Registry, tool: &str) -> Result<Arc<str>, Error> {
    let known = registry.entries().iter().map(|entry| &entry.tool);
    let has = |known: &&Arc<registry::Tool>| *known.name == *tool || known.aliases.iter().any(|alias| alias == tool);
    match known.into_iter().find(has) {
        Some(known) => Ok(known.name.clone()),
        None => Err(registry::not_found(registry, tool, "")),
    }
}

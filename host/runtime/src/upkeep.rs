//! What does the runtime do beside its calls? On a thread of its own it checks the health of backends, notices what people
//! changed in other processes, and looks which tools nobody uses. Calls never wait for it. Part of the spine.

use crate::adapter::health::Observed;
use crate::adapter::{Adapter, is_observed, rule};
use crate::call::Digest;
use crate::journal::{Journal, now_ms};
use crate::registry::running::Backend;
use crate::registry::statistics::{self, By, Use};
use crate::registry::{Tool, discovery, life, low_use};
use crate::sandbox::Sandbox;
use crate::sandbox::health::Checked;
use crate::shelf::Shelf;
use crate::toolbox::{Toolbox, Unloadable};
use std::collections::HashMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// How often it is looked whether there is something to do.
const ROUND: Duration = Duration::from_millis(500);
/// How long after the start the first round is, so that short commands are over before it.
const FIRST: Duration = Duration::from_millis(100);
/// How often it is looked which tools nobody uses, after the start.
const DAILY: Duration = Duration::from_secs(86_400);
/// Tools that are flagged in one round, so that health checks do not wait long.
const TOGETHER: usize = 100;
/// Health checks at the same time; further ones wait for the next round.
const CHECKS: usize = 16;
/// How much chance takes off the time to the next check, as a part of it: processes that were started together do not
/// check together.
const JITTER: f64 = 0.2;
/// How long a check may take, where no health check says.
const USUAL_CHECK: Duration = Duration::from_secs(5);
/// Looking at the folders takes no more than this part of the time.
const LOOKS: u32 = 50;
/// How long the end of the thread is waited for.
const ENDING: Duration = Duration::from_secs(5);

/// What upkeep works on, with the calls.
#[derive(Clone)]
pub(crate) struct Kept {
    pub(crate) shelf: Arc<Shelf>,
    pub(crate) sandbox: Arc<Sandbox>,
    pub(crate) journal: Arc<Journal>,
    pub(crate) observed: Arc<Observed>,
}

/// The thread. Lifetime: the runtime; dropping it ends all that it does.
pub(crate) struct Upkeep {
    stop: watch::Sender<bool>,
    /// Its other side goes with the thread.
    ended: Mutex<Receiver<()>>,
}

impl Upkeep {
    pub(crate) fn start(kept: Kept) -> Result<Upkeep, String> {
        let failed = |error: std::io::Error| format!("no thread for the upkeep can be started: {error}");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let (stop, mut stopped) = watch::channel(false);
        let (running, ended) = std::sync::mpsc::channel::<()>();
        let work = move || {
            let _running = running;
            runtime.block_on(async {
                tokio::select! {
                    _ = stopped.wait_for(|stop| *stop) => {}
                    () = forever(kept) => {}
                }
            });
            runtime.shutdown_timeout(ENDING / 2);
        };
        std::thread::Builder::new().name("hermes-upkeep".into()).spawn(work).map_err(failed)?;
        Ok(Upkeep { stop, ended: Mutex::new(ended) })
    }
}

impl Drop for Upkeep {
    /// Ends what runs. A disk or a component that does not answer holds nobody up for ever.
    fn drop(&mut self) {
        let _ = self.stop.send(true);
        let ended = self.ended.get_mut().unwrap_or_else(PoisonError::into_inner);
        if matches!(ended.recv_timeout(ENDING), Err(RecvTimeoutError::Timeout)) {
            tracing::error!("the upkeep does not end in time");
        }
    }
}

async fn forever(kept: Kept) {
    tokio::time::sleep(FIRST).await;
    let mut checks = Checks::default();
    let mut folders = Folders::default();
    let (mut revision, mut looked) = (None, None::<Instant>);
    loop {
        // Asked before the toolbox is taken: one that comes in between is planned for in the next round.
        let now = *kept.shelf.revision().borrow();
        if revision != Some(now) {
            revision = Some(now);
            let toolbox = kept.shelf.get();
            checks.plan(&toolbox, Instant::now());
            compile_schemas(&toolbox).await;
            note_seen(&kept, &toolbox).await;
        }
        checks.begin_due(&kept, Instant::now());
        if let Ok(out) = kept.journal.read(life::out).await {
            kept.shelf.take_out(&out);
        }
        if looked.is_none_or(|looked| looked.elapsed() >= DAILY) && flag_unused(&kept).await {
            looked = Some(Instant::now());
        }
        folders.follow(&kept).await;
        checks.gather(ROUND).await;
    }
}

/// What the folders of plugins and tools were when they were last looked at.
#[derive(Default)]
struct Folders {
    seen: Option<Digest>,
    /// What was read and came to nothing, or is being read; it is not read again before it changes.
    failed: Option<Digest>,
    /// When they are looked at next: rarely, if looking takes long.
    next: Option<Instant>,
    reloading: Option<tokio::task::JoinHandle<()>>,
}

impl Folders {
    /// Reads them again once they have changed and stay as they are: who is still writing is not read in between.
    async fn follow(&mut self, kept: &Kept) {
        if self.reloading.as_ref().is_some_and(|reloading| !reloading.is_finished())
            || self.next.is_some_and(|next| Instant::now() < next)
        {
            return;
        }
        let (shelf, began) = (kept.shelf.clone(), Instant::now());
        let Ok((now, read)) = tokio::task::spawn_blocking(move || shelf.fingerprints()).await else { return };
        self.next = Some(Instant::now() + (began.elapsed() * LOOKS).max(ROUND));
        let is_still = self.seen.replace(now) == Some(now);
        if now == read || !is_still || self.failed == Some(now) {
            return;
        }
        self.failed = Some(now);
        let (shelf, sandbox) = (kept.shelf.clone(), kept.sandbox.clone());
        self.reloading = Some(tokio::task::spawn_blocking(move || match shelf.reload(&sandbox) {
            Ok(faults) => faults.iter().for_each(|fault| tracing::warn!("{fault}")),
            Err(Unloadable::Policies(faults)) => tracing::error!("nothing is read again: {faults}"),
            Err(Unloadable::Lock(why)) => tracing::error!("nothing is read again: {why}"),
        }));
    }
}

/// Compiles what listed inputs come to, so that no call has to.
async fn compile_schemas(toolbox: &Toolbox) {
    for (number, tool) in toolbox.registry.tools().enumerate() {
        // What cannot be compiled is told to who calls.
        let _ = tool.input.validator();
        if number % 64 == 0 {
            tokio::task::yield_now().await;
        }
    }
}

/// Notes the tools that were never there before.
async fn note_seen(kept: &Kept, toolbox: &Toolbox) {
    // The runtime's own tools are there because the runtime is.
    let tools = toolbox.registry.tools().filter(|tool| tool.built_in.is_none());
    let names: Vec<String> = tools.map(|tool| tool.name.to_string()).collect();
    let Ok(unseen) = kept.journal.read(move |connection| life::unseen(connection, names)).await else { return };
    let Ok(writing) = kept.journal.writing() else { return };
    if !unseen.is_empty()
        && let Err(error) = writing.write(None, vec![life::seen(unseen, now_ms())]).await
    {
        tracing::warn!(%error, "it is not written down since when tools are known");
    }
}

/// Flags the tools that nobody uses, each with what was found about it. Whether all of them were looked at.
async fn flag_unused(kept: &Kept) -> bool {
    let read = |connection: &rusqlite::Connection| -> rusqlite::Result<(Vec<life::Unused>, Vec<Use>)> {
        let unused = life::unused(connection, now_ms())?;
        let uses = if unused.is_empty() { Vec::new() } else { statistics::read(connection, By::Tool)? };
        Ok((unused, uses))
    };
    let Ok((unused, uses)) = kept.journal.read(read).await else { return false };
    if unused.is_empty() {
        return true;
    }
    let qualities = statistics::qualities_of(&uses);
    let mut by_tool: HashMap<&str, Vec<&Use>> = HashMap::new();
    uses.iter().for_each(|used| by_tool.entry(&used.tool).or_default().push(used));
    let toolbox = kept.shelf.get();
    let mut flagged = 0;
    // One whose manifest is gone needs no advice.
    let known = unused.iter().filter_map(|unused| Some((unused, toolbox.registry.find(&unused.tool)?)));
    for (unused, tool) in known.take(TOGETHER) {
        let alike = discovery::alike(&toolbox.registry, tool, discovery::MOST, &qualities);
        let uses = by_tool.get(unused.tool.as_str()).map_or(&[][..], Vec::as_slice);
        let event = life::flagged(&low_use::evaluate(unused, uses, &alike));
        let claim = life::not_flagged(&unused.tool, unused.last_ms);
        // Another process may have said it meanwhile.
        flagged += usize::from(kept.journal.note(event, vec![claim]).await.is_ok());
        tokio::task::yield_now().await;
    }
    flagged == 0
}

/// One backend that is checked.
struct Check {
    linked: Digest,
    backend: Backend,
    tool: Arc<Tool>,
    /// Nothing for one that is only looked at when it is unhealthy.
    next: Option<Instant>,
    runs: bool,
}

/// All health checks. A backend of several tools is checked once.
#[derive(Default)]
struct Checks {
    all: HashMap<Digest, Check>,
    running: JoinSet<(Digest, Checked)>,
    found: Vec<(Digest, Checked)>,
}

impl Checks {
    /// The checks of the tools that there are now. What was planned before keeps its time.
    fn plan(&mut self, toolbox: &Toolbox, now: Instant) {
        let before = std::mem::take(&mut self.all);
        for tool in toolbox.registry.tools().filter(|tool| tool.built_in.is_none() && is_observed(tool)) {
            for backend in &tool.backends {
                let Some(adapter) = toolbox.adapters.get(&backend.adapter) else { continue };
                let adapter: &Adapter = adapter;
                let known = before.get(&backend.digest);
                let first = || tool.health_check.map(|check| now + to_the_first(check.interval));
                let next = known.map_or_else(first, |known| known.next);
                let runs = known.is_some_and(|known| known.runs);
                let check = Check { linked: adapter.linked, backend: backend.clone(), tool: tool.clone(), next, runs };
                self.all.entry(backend.digest).or_insert(check);
            }
        }
    }

    fn begin_due(&mut self, kept: &Kept, now: Instant) {
        for (digest, found) in std::mem::take(&mut self.found) {
            self.note(kept, digest, &found, now);
        }
        if self.running.is_empty() {
            // One that broke off says nothing, and is checked again at its time.
            self.all.values_mut().for_each(|check| check.runs = false);
        }
        let sick = kept.observed.to_be_looked_at(now);
        let due = |digest: &Digest, check: &Check| check.next.is_some_and(|next| next <= now) || sick.contains(digest);
        for (digest, check) in &mut self.all {
            if self.running.len() >= CHECKS {
                return;
            }
            if check.runs || !due(digest, check) {
                continue;
            }
            check.runs = true;
            check.next = check.tool.health_check.map(|planned| now + to_the_next(planned.interval));
            let time = check.tool.health_check.map_or(USUAL_CHECK, |planned| planned.timeout);
            let (sandbox, linked, backend, digest) =
                (kept.sandbox.clone(), check.linked, check.backend.clone(), *digest);
            self.running.spawn(async move { (digest, sandbox.check_health(&linked, &backend, time).await) });
        }
    }

    fn note(&mut self, kept: &Kept, digest: Digest, found: &Checked, now: Instant) {
        let Some(check) = self.all.get_mut(&digest) else { return };
        check.runs = false;
        let rule = rule(&check.tool);
        match found {
            Checked::Passed => kept.observed.note_check(&digest, Ok(()), rule, now),
            Checked::Failed(why) => {
                tracing::warn!(tool = %check.tool.name, backend = %check.backend.key, why, "a health check failed");
                kept.observed.note_check(&digest, Err(why), rule, now);
            }
            Checked::Unknown => {}
        }
    }

    /// Waits for the next round, and gathers what checks find meanwhile.
    async fn gather(&mut self, time: Duration) {
        let until = tokio::time::Instant::now() + time;
        loop {
            let next = async {
                match self.running.is_empty() {
                    true => std::future::pending().await,
                    false => self.running.join_next().await,
                }
            };
            match tokio::time::timeout_at(until, next).await {
                Ok(Some(Ok(found))) => self.found.push(found),
                Ok(Some(Err(_)) | None) => {}
                Err(_) => return,
            }
        }
    }
}

/// The first checks are spread over the whole interval.
fn to_the_first(interval: Duration) -> Duration {
    interval.mul_f64(chance())
}

fn to_the_next(interval: Duration) -> Duration {
    interval.mul_f64(1.0 - JITTER * chance())
}

/// A number between 0 and 1 that nobody foresees.
fn chance() -> f64 {
    use std::hash::{BuildHasher, Hasher};
    let number = std::collections::hash_map::RandomState::new().build_hasher().finish();
    number as f64 / u64::MAX as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The shortest and the longest of many waits, as parts of the interval.
    fn spread(wait: impl Fn(Duration) -> Duration) -> (f64, f64) {
        const INTERVAL: Duration = Duration::from_secs(1000);
        let parts = (0..2000).map(|_| wait(INTERVAL).as_secs_f64() / INTERVAL.as_secs_f64());
        parts.fold((f64::MAX, f64::MIN), |(least, most), part| (least.min(part), most.max(part)))
    }

    #[test]
    fn backends_are_not_checked_in_a_herd() {
        let (least, most) = spread(to_the_first);
        assert!((0.0..0.1).contains(&least) && (0.9..=1.0).contains(&most), "{least} to {most}");
        let (least, most) = spread(to_the_next);
        assert!((0.8..0.82).contains(&least) && (0.98..=1.0).contains(&most), "{least} to {most}");
    }
}

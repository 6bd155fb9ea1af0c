//! What does the runtime remember of a session while it lasts? Its task, its last arguments, and what it saw only in
//! part. It ranks results and asks for a digest; no permission depends on it. Lifetime: until nobody has called for the
//! session's idle time, or the process ends.

use crate::call::{Call, Caller, Judged};
use crate::error::{Error, Kind, Step};
use crate::map::Map;
use crate::record::Facts;
use crate::registry::Tool;
use serde_json::Value;
use std::collections::{BTreeSet, VecDeque};
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Sessions that are remembered at once; the one that called least recently is forgotten first.
const SESSIONS: usize = 4096;
/// Arguments that serve as the query where no task is known.
const RECENT: usize = 5;
/// Longest arguments that serve so, in bytes; longer ones are content, not questions.
const LONGEST: usize = 2048;
/// Targets that a session is known to have seen in part.
const PARTLY: usize = 1024;

/// All sessions of a runtime.
#[derive(Debug)]
pub(crate) struct Sessions {
    idle: Duration,
    sessions: Mutex<Map<Key, Arc<Session>>>,
}

/// A session is its caller's, whatever its name.
#[derive(Clone, Debug)]
struct Key {
    caller: Arc<Caller>,
    name: Arc<str>,
}

impl PartialEq for Key {
    fn eq(&self, other: &Key) -> bool {
        self.caller.id == other.caller.id && self.name == other.name
    }
}

impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.caller.id.hash(state);
        self.name.hash(state);
    }
}

/// One session.
#[derive(Debug)]
pub(crate) struct Session {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    used: Instant,
    task: Option<String>,
    recent: VecDeque<Arc<str>>,
    partly: BTreeSet<String>,
}

impl Sessions {
    pub(crate) fn new(idle: Duration) -> Sessions {
        Sessions { idle, sessions: Mutex::default() }
    }

    /// The session of a call, a new one if it has none or it was idle for too long.
    pub(crate) fn of(&self, call: &Call, now: Instant) -> Arc<Session> {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let key = Key { caller: call.caller.clone(), name: call.session.clone() };
        if let Some(session) = sessions.get(&key)
            && now.saturating_duration_since(session.lock().used) < self.idle
        {
            session.lock().used = now;
            return session.clone();
        }
        if sessions.len() >= SESSIONS {
            sessions.retain(|_, session| now.saturating_duration_since(session.lock().used) < self.idle);
            let oldest = sessions.iter().min_by_key(|(_, session)| session.lock().used).map(|(key, _)| key.clone());
            if let Some(oldest) = oldest.filter(|_| sessions.len() >= SESSIONS) {
                sessions.remove(&oldest);
            }
        }
        let state = State { used: now, task: None, recent: VecDeque::new(), partly: BTreeSet::new() };
        let session = Arc::new(Session { state: Mutex::new(state) });
        sessions.insert(key, session.clone());
        session
    }
}

impl Session {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets what the session works on; an empty text takes it back.
    pub(crate) fn set_task(&self, task: &str) {
        self.lock().task = Some(task.trim().to_owned()).filter(|task| !task.is_empty());
    }

    /// What the session works on, as the agent has set it.
    pub(crate) fn task(&self) -> Option<String> {
        self.lock().task.clone()
    }

    /// Notes the arguments of a call.
    pub(crate) fn note_arguments(&self, canonical: &Arc<str>) {
        let end = crate::document::floor_char_boundary(canonical, LONGEST);
        let noted = if end == canonical.len() { canonical.clone() } else { canonical[..end].into() };
        let mut state = self.lock();
        if state.recent.len() == RECENT {
            state.recent.pop_front();
        }
        state.recent.push_back(noted);
    }

    /// What a result is ranked by: the call's own task, the session's, or its last arguments.
    pub(crate) fn looks_for(&self, call: &Call) -> Vec<Arc<str>> {
        let state = self.lock();
        match call.situation.task.as_ref().or(state.task.as_ref()) {
            Some(task) => vec![task.as_str().into()],
            None => state.recent.iter().cloned().collect(),
        }
    }

    /// Notes whether all of a target was shown.
    pub(crate) fn note_shown(&self, facts: &Facts, in_part: bool) {
        let mut state = self.lock();
        for target in &facts.targets {
            match in_part && state.partly.len() < PARTLY {
                true => state.partly.insert(target.clone()),
                false => state.partly.remove(target),
            };
        }
    }

    /// Refuses to overwrite what the session saw only in part, unless the call names the digest of what is there.
    ///
    /// # Errors
    /// `conflict`, with what to do.
    pub(crate) fn refuse_overwriting_unseen(&self, tool: &Tool, judged: &Judged) -> Result<(), Error> {
        let argument = |name: &str| judged.value.get(name).and_then(Value::as_str);
        let ruled = tool.targets.iter().find_map(|target| Some((target, target.overwrites.as_ref()?)));
        let Some((target, rule)) = ruled else { return Ok(()) };
        if argument(&rule.argument) != Some(&rule.value) || argument(&rule.precondition).is_some() {
            return Ok(());
        }
        let target = argument(&target.argument);
        match target.filter(|target| self.lock().partly.contains(*target)) {
            None => Ok(()),
            Some(target) => {
                let target = crate::document::excerpt(target, 200);
                let message = format!("only a part of `{target}` was shown, so overwriting it could lose the rest");
                Err(Error::new(Step::Validation, Kind::Conflict, message)
                    .reason("seen_in_part")
                    .hint(format!("read the rest first, or pass the digest of the whole as `{}`", rule.precondition)))
            }
        }
    }
}

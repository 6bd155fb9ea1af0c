//! What stands for the host in a native test? A world of files, programs, answers and secrets, made by the test.
//!
//! ```
//! use hermes_sdk::{Files, native::World};
//!
//! let world = World::new().file("/workspace/a.txt", "hello");
//! let (found, after) = world.run(|| Files::for_test().read_text("/workspace/a.txt", 100));
//! assert_eq!(found.unwrap(), "hello");
//! assert!(after.requests.is_empty());
//! ```

use crate::call::Level;
use crate::failure::{Failure, Kind, Result};
use crate::http::{Request, Response};
use crate::programs::{Finished, Program};
use crate::tools::Reply;
use serde_json::Value;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// What stands for the host.
#[derive(Clone, Debug, Default)]
pub struct World {
    /// Files by virtual path.
    pub files: BTreeMap<String, Vec<u8>>,
    /// Whether they cannot be changed.
    pub read_only: bool,
    /// Answers by method and URL, as `GET https://a.test/`; each is given once, in order.
    pub answers: BTreeMap<String, Vec<Response>>,
    /// What programs come to, by name.
    pub programs: BTreeMap<String, Finished>,
    /// Names of secrets.
    pub secrets: Vec<String>,
    /// What other tools answer, by name.
    pub tools: BTreeMap<String, Reply>,
    /// Calls of other tools that were made.
    pub called: Vec<(String, Value)>,
    /// Requests that were sent.
    pub requests: Vec<Request>,
    /// Programs that were run.
    pub ran: Vec<Program>,
    /// Lines of the log.
    pub log: Vec<(Level, String)>,
    /// Progress that was told.
    pub progress: Vec<(u64, Option<u64>, String)>,
    /// Parts of the answer that were handed over.
    pub parts: Vec<String>,
    /// Whether nobody waits for the answer any more.
    pub cancelled: bool,
}

thread_local! {
    static WORLD: RefCell<World> = RefCell::default();
}

impl World {
    /// A world without anything.
    pub fn new() -> World {
        World::default()
    }

    /// With a file.
    pub fn file(mut self, path: &str, content: impl Into<Vec<u8>>) -> World {
        self.files.insert(path.to_owned(), content.into());
        self
    }

    /// With an answer to a request.
    pub fn answer(mut self, method: &str, url: &str, status: u16, body: impl Into<Vec<u8>>) -> World {
        let response = Response { status, headers: Vec::new(), body: body.into(), truncated: false };
        self.answers.entry(format!("{method} {url}")).or_default().push(response);
        self
    }

    /// With a program.
    pub fn program(mut self, name: &str, finished: Finished) -> World {
        self.programs.insert(name.to_owned(), finished);
        self
    }

    /// With a secret.
    pub fn secret(mut self, name: &str) -> World {
        self.secrets.push(name.to_owned());
        self
    }

    /// With another tool that finds this whenever it is called.
    pub fn tool(mut self, name: &str, data: impl Into<Value>) -> World {
        let envelope = serde_json::json!({ "status": "ok", "data": data.into(), "metadata": {} });
        self.tools.insert(name.to_owned(), Reply { code: 200, envelope });
        self
    }

    /// Runs something in this world; returns what came of it, and the world afterwards.
    pub fn run<T>(self, what: impl FnOnce() -> T) -> (T, World) {
        let before = WORLD.replace(self);
        let result = what();
        (result, WORLD.replace(before))
    }
}

/// Looks at the world that stands now.
pub(crate) fn note<T>(what: impl FnOnce(&mut World) -> T) -> T {
    WORLD.with_borrow_mut(what)
}

pub(crate) fn answer(request: &Request) -> Result<Response> {
    note(|world| {
        world.requests.push(request.clone());
        let key = format!("{} {}", request.method, request.url);
        let answers = world.answers.get_mut(&key).filter(|answers| !answers.is_empty());
        answers.map(|answers| answers.remove(0)).ok_or_else(|| {
            Failure::new(Kind::Denied, format!("the test's world has no answer to `{key}`")).reason("host_not_granted")
        })
    })
}

pub(crate) fn run(program: &Program) -> Result<Finished> {
    note(|world| {
        world.ran.push(program.clone());
        world.programs.get(&program.name).cloned().ok_or_else(|| {
            let message = format!("the test's world has no program `{}`", program.name);
            Failure::because("program_not_found", message)
        })
    })
}

pub(crate) fn call(tool: &str, args: Value) -> Result<Reply> {
    note(|world| {
        world.called.push((tool.to_owned(), args));
        world.tools.get(tool).cloned().ok_or_else(|| {
            Failure::new(Kind::Denied, format!("the test's world has no tool `{tool}`")).reason("not_granted")
        })
    })
}

pub(crate) mod files {
    use super::note;
    use crate::bindings::hermes::tool::files::{
        Entry, EntryKind, Expectation, Failure, Grant, Reason, Status, Written,
    };

    type Result<T> = std::result::Result<T, Failure>;

    fn failure(reason: Reason, path: &str, what: &str) -> Failure {
        Failure { reason, message: format!("`{path}` {what}") }
    }

    fn missing(path: &str) -> Failure {
        failure(Reason::NotFound, path, "does not exist")
    }

    pub(crate) fn grants() -> Vec<Grant> {
        let writable = note(|world| !world.read_only);
        let mut names: Vec<String> = note(|world| {
            world.files.keys().filter_map(|path| path.split('/').nth(1).map(|name| format!("/{name}"))).collect()
        });
        names.push("/workspace".to_owned());
        names.sort();
        names.dedup();
        names.into_iter().map(|name| Grant { name, writable }).collect()
    }

    fn beneath(path: &str) -> String {
        format!("{}/", path.trim_end_matches('/'))
    }

    pub(crate) fn stat(path: &str) -> Result<Status> {
        let found = note(|world| world.files.get(path).map(Vec::len));
        let is_directory = || note(|world| world.files.keys().any(|file| file.starts_with(&beneath(path))));
        match found {
            Some(size) => Ok(Status { kind: EntryKind::File, size: size as u64, modified_ms: 0 }),
            None if is_directory() => Ok(Status { kind: EntryKind::Directory, size: 0, modified_ms: 0 }),
            None => Err(missing(path)),
        }
    }

    #[derive(Debug)]
    pub(crate) struct Reader(Vec<u8>);

    impl Reader {
        pub(crate) fn size(&self) -> u64 {
            self.0.len() as u64
        }

        pub(crate) fn read(&self, offset: u64, length: u32) -> Result<Vec<u8>> {
            let start = usize::try_from(offset).unwrap_or(usize::MAX).min(self.0.len());
            let end = start.saturating_add(length as usize).min(self.0.len());
            Ok(self.0[start..end].to_vec())
        }

        pub(crate) fn digest(&self) -> Result<String> {
            Ok(digest(&self.0))
        }
    }

    /// Not the host's digest, but as good for telling contents apart.
    fn digest(content: &[u8]) -> String {
        let prime =
            |sum: u128, byte: &u8| (sum ^ u128::from(*byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        let sum = content.iter().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128, prime);
        format!("test:{sum:032x}")
    }

    pub(crate) fn open(path: &str) -> Result<Reader> {
        match stat(path)?.kind {
            EntryKind::Directory => Err(failure(Reason::IsADirectory, path, "is a directory")),
            _ => note(|world| world.files.get(path).cloned()).map(Reader).ok_or_else(|| missing(path)),
        }
    }

    pub(crate) fn list(path: &str, after: Option<&str>, limit: u32) -> Result<Vec<Entry>> {
        let prefix = beneath(path);
        let mut entries: Vec<Entry> = Vec::new();
        note(|world| {
            for (file, content) in world.files.range(prefix.clone()..).take_while(|(file, _)| file.starts_with(&prefix))
            {
                let rest = &file[prefix.len()..];
                let (name, kind, size) = match rest.split_once('/') {
                    Some((name, _)) => (name, EntryKind::Directory, 0),
                    None => (rest, EntryKind::File, content.len() as u64),
                };
                if entries.last().is_none_or(|last| last.name != name) {
                    entries.push(Entry { name: name.to_owned(), kind, size, modified_ms: 0, accessible: true });
                }
            }
        });
        if entries.is_empty() {
            return Err(missing(path));
        }
        entries.retain(|entry| after.is_none_or(|after| entry.name.as_str() > after));
        entries.truncate(limit as usize);
        Ok(entries)
    }

    pub(crate) fn make_directory(_: &str) -> Result<()> {
        Ok(())
    }

    fn check(path: &str, expect: &Expectation) -> Result<Option<Vec<u8>>> {
        if note(|world| world.read_only) {
            return Err(failure(Reason::ReadOnly, path, "cannot be changed in this call"));
        }
        let known = note(|world| world.files.get(path).cloned());
        match (expect, &known) {
            (Expectation::Absent, Some(_)) => Err(failure(Reason::AlreadyExists, path, "is there already")),
            (Expectation::Digest(wanted), known)
                if known.as_ref().map(|known| digest(known)).as_ref() != Some(wanted) =>
            {
                Err(failure(Reason::Changed, path, "is not what was expected"))
            }
            _ => Ok(known),
        }
    }

    pub(crate) fn write(path: &str, content: &[u8], expect: &Expectation) -> Result<Written> {
        let known = check(path, expect)?;
        note(|world| world.files.insert(path.to_owned(), content.to_vec()));
        Ok(Written { size: content.len() as u64, digest: digest(content), created: known.is_none() })
    }

    pub(crate) fn append(path: &str, content: &[u8], expect: &Expectation) -> Result<Written> {
        let mut whole = check(path, expect)?.ok_or_else(|| missing(path))?;
        whole.extend_from_slice(content);
        note(|world| world.files.insert(path.to_owned(), whole.clone()));
        Ok(Written { size: whole.len() as u64, digest: digest(&whole), created: false })
    }
}

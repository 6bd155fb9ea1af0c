//! Which authority does an embedding program add? An interface of its own, written in WIT, whose functions it answers in
//! JSON. Must not know how a component is linked to it.

use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

/// What a function is asked.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The parameters by name.
    pub args: Value,
    /// Whether the call may change anything; one of a tool that says it reads may not.
    pub writable: bool,
}

/// What a function answers, once it has: its result, or the error of a function whose result is one.
pub type Answering = Pin<Box<dyn Future<Output = Result<Value, Value>> + Send>>;

/// A capability of the embedding program. A component gets it as every other one: it imports the interface, its
/// `adapter.toml` asks for the name, and the tool's call is permitted.
///
/// ```
/// use hermes_runtime::authority::Authority;
/// use serde_json::json;
///
/// let stock = Authority::new("stock", "
///     package shop:house@1.0.0;
///     interface stock { count: func(item: string) -> u32; }
/// ")
/// .function("count", |asked| Box::pin(async move {
///     Ok(json!(asked.args["item"].as_str().map_or(0, str::len)))
/// }));
/// ```
#[derive(Clone)]
pub struct Authority {
    /// The word by which `adapter.toml` asks for it.
    pub name: Arc<str>,
    /// A package with one interface.
    pub wit: Arc<str>,
    /// What answers each of its functions. One without is an error of the component that calls it.
    pub(crate) answers: BTreeMap<String, Arc<dyn Fn(Asked) -> Answering + Send + Sync>>,
}

impl Authority {
    /// A capability whose functions nobody answers yet. The text is read when a runtime starts.
    pub fn new(name: &str, wit: &str) -> Authority {
        Authority { name: name.into(), wit: wit.into(), answers: BTreeMap::new() }
    }

    /// With what answers a function. It is dropped at the call's deadline, so what it waits for has to end with it; it
    /// must not block.
    pub fn function(mut self, name: &str, answer: impl Fn(Asked) -> Answering + Send + Sync + 'static) -> Authority {
        self.answers.insert(name.to_owned(), Arc::new(answer));
        self
    }
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let functions: Vec<&String> = self.answers.keys().collect();
        f.debug_struct("Authority").field("name", &self.name).field("functions", &functions).finish_non_exhaustive()
    }
}

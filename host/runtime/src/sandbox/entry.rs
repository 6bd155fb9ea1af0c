//! By what is a component called? By the contract's interface, or, if it knows nothing of that, by functions of its own,
//! whose types say what the arguments are.

use super::describe::{Description, ToolDescription};
use super::values::{self, Function, Shape};
use super::{Content, ErrorKind, Output, State, wit};
use serde_json::Value;
use wasmtime::Store;
use wasmtime::component::{ComponentExportIndex, ComponentNamedList, InstancePre, Lift, Lower, Val};

/// What is called. Lifetime: the adapter.
pub(super) enum Entry {
    /// `tool-execution` of the contract.
    Contract(Exports),
    /// Functions of its own.
    Functions(InstancePre<State>, Vec<Function>),
}

/// The functions of the contract's interface, found when the component was loaded, so that a call looks for nothing and
/// has only the types of what it calls compared.
pub(super) struct Exports {
    pre: InstancePre<State>,
    execute: ComponentExportIndex,
    check_health: ComponentExportIndex,
    describe: ComponentExportIndex,
}

/// The interface's name in a component.
const INTERFACE: &str = "hermes:tool/tool-execution@0.1.0";

impl Exports {
    /// # Errors
    /// The component does not export the interface.
    pub(super) fn of(pre: InstancePre<State>) -> wasmtime::Result<Exports> {
        let component = pre.component();
        let missing = |name: &str| wasmtime::Error::msg(format!("the component does not export `{name}`"));
        let interface = component.get_export_index(None, INTERFACE).ok_or_else(|| missing(INTERFACE))?;
        let index = |name: &str| component.get_export_index(Some(&interface), name).ok_or_else(|| missing(name));
        let (execute, check_health, describe) = (index("execute")?, index("check-health")?, index("describe")?);
        Ok(Exports { pre, execute, check_health, describe })
    }

    /// Calls one of them in a fresh instance.
    async fn call<Params, Returned>(
        &self,
        store: &mut Store<State>,
        function: &ComponentExportIndex,
        params: Params,
    ) -> wasmtime::Result<Returned>
    where
        Params: ComponentNamedList + Lower + Send + Sync,
        Returned: Send + Sync + 'static,
        (Returned,): ComponentNamedList + Lift + Send + Sync + 'static,
    {
        let instance = self.pre.instantiate_async(&mut *store).await?;
        let function = instance.get_typed_func::<Params, (Returned,)>(&mut *store, function)?;
        let (returned,) = function.call_async(store, params).await?;
        Ok(returned)
    }
}

impl Entry {
    /// Runs one call in a fresh instance. Dropping the future ends it.
    pub(super) async fn execute(
        &self,
        store: &mut Store<State>,
        call: &wit::Call,
    ) -> wasmtime::Result<Result<Output, wit::Error>> {
        match self {
            Entry::Contract(exports) => exports.call(store, &exports.execute, (call,)).await,
            Entry::Functions(pre, functions) => match functions.iter().find(|function| function.path() == call.tool) {
                Some(function) => run(pre, store, function, &call.args).await,
                None => {
                    let known: Vec<String> = functions.iter().map(Function::path).collect();
                    let why = format!("the component has no function `{}`; it has {}", call.tool, known.join(", "));
                    Ok(Err(failure(ErrorKind::InvalidInput, why, None)))
                }
            },
        }
    }

    /// Whether it says that calls can succeed. One that knows nothing of that is not asked.
    pub(super) async fn check_health(&self, store: &mut Store<State>) -> wasmtime::Result<Result<(), wit::Error>> {
        match self {
            Entry::Contract(exports) => exports.call(store, &exports.check_health, ()).await,
            Entry::Functions(..) => Ok(Ok(())),
        }
    }

    /// What it says of itself.
    pub(super) async fn describe(&self, store: &mut Store<State>) -> wasmtime::Result<Description> {
        match self {
            Entry::Contract(exports) => exports.call(store, &exports.describe, ()).await.map(Description::of),
            Entry::Functions(_, functions) => {
                let tool = |function: &Function| ToolDescription {
                    name: function.path(),
                    description: function.docs.clone(),
                    input_schema: values::schema_of(function).to_string(),
                };
                Ok(Description {
                    name: String::new(),
                    version: String::new(),
                    tools: functions.iter().map(tool).collect(),
                })
            }
        }
    }
}

async fn run(
    pre: &InstancePre<State>,
    store: &mut Store<State>,
    function: &Function,
    args: &str,
) -> wasmtime::Result<Result<Output, wit::Error>> {
    let given = serde_json::from_str(args).unwrap_or(Value::Null);
    let params = match values::params_from_json(function, &given) {
        Ok(params) => params,
        Err(why) => return Ok(Err(failure(ErrorKind::InvalidInput, why, None))),
    };
    let instance = pre.instantiate_async(&mut *store).await?;
    let within = match &function.interface {
        Some(interface) => instance.get_export_index(&mut *store, None, interface),
        None => None,
    };
    let found = instance.get_export_index(&mut *store, within.as_ref(), &function.name);
    let called = found
        .and_then(|index| instance.get_func(&mut *store, index))
        .ok_or_else(|| wasmtime::Error::msg(format!("the function `{}` is not exported", function.path())))?;
    let mut results = vec![Val::Bool(false); usize::from(function.result.is_some())];
    called.call_async(&mut *store, &params, &mut results).await?;
    let (Some(shape), Some(value)) = (&function.result, results.first()) else {
        return Ok(Ok(Output { data: None, content: Vec::new(), metadata: None }));
    };
    returned(shape, value).map_err(wasmtime::Error::msg)
}

/// What a function returned, as a tool's output. A result that is an error is the tool's failure.
fn returned(shape: &Shape, value: &Val) -> Result<Result<Output, wit::Error>, String> {
    let (shape, value) = match (shape, value) {
        (Shape::Result(ok, _), Val::Result(Ok(value))) => (ok.as_deref(), value.as_deref()),
        (Shape::Result(_, error), Val::Result(Err(value))) => {
            let told = match (error, value) {
                (Some(shape), Some(value)) => values::to_json(shape, value)?,
                _ => Value::Null,
            };
            return Ok(Err(failure_of(told)));
        }
        (shape, value) => (Some(shape), Some(value)),
    };
    let json = match (shape, value) {
        (Some(shape), Some(value)) => values::to_json(shape, value)?,
        _ => Value::Null,
    };
    let (data, content) = match json {
        Value::Null => (None, Vec::new()),
        Value::String(text) => (None, vec![Content::Text(text)]),
        Value::Object(facts) => (Some(Value::Object(facts).to_string()), Vec::new()),
        other => (None, vec![Content::Json(other.to_string())]),
    };
    Ok(Ok(Output { data, content, metadata: None }))
}

/// A function's own error: a text is the message, a case or a name is the reason.
fn failure_of(told: Value) -> wit::Error {
    let message = match &told {
        Value::Null => "the function failed and does not say why".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let name = match &told {
        Value::String(name) => Some(name),
        Value::Object(members) if members.len() == 1 => members.keys().next(),
        _ => None,
    };
    let is_name = |name: &&String| {
        name.len() <= 64
            && name.starts_with(|c: char| c.is_ascii_lowercase())
            && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
    };
    let reason = name.filter(is_name).map(|name| name.replace('-', "_"));
    failure(ErrorKind::ToolFailed, message, reason)
}

fn failure(kind: ErrorKind, message: String, reason: Option<String>) -> wit::Error {
    // Whether something left it is not known of a component that does not say so.
    let request_sent = kind == ErrorKind::ToolFailed;
    wit::Error { kind, reason, message, hint: None, request_sent, partial: None }
}

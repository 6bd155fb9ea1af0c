//! What the embedding program adds: interfaces of its own, answered by its own functions in JSON.

use crate::authority::{Asked, Authority};
use crate::sandbox::State;
use crate::sandbox::values::{self, Function, Shape};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use wasmtime::component::{Linker, Val};

/// What a crossing is called on the tape.
pub(crate) const CROSSING: &str = "embedder.call";

/// The embedding program's capabilities by name. Lifetime: the runtime.
#[derive(Default)]
pub(crate) struct Embedder {
    by_name: BTreeMap<String, Interface>,
}

struct Interface {
    /// Its full name, with its version.
    path: String,
    functions: Vec<Arc<Function>>,
    authority: Authority,
}

impl Embedder {
    /// # Errors
    /// A text that is no WIT with one interface, a function that JSON cannot say or that is not in it, a name that is
    /// taken.
    pub(crate) fn of(authorities: &[Authority]) -> Result<Embedder, String> {
        let mut by_name = BTreeMap::new();
        for authority in authorities {
            let name = authority.name.to_string();
            let wrong = |why: String| format!("the capability `{name}`: {why}");
            let interface = read(authority).map_err(wrong)?;
            if super::ALL.contains(&&*authority.name) || by_name.insert(name.clone(), interface).is_some() {
                return Err(wrong("there is one of this name already".into()));
            }
        }
        Ok(Embedder { by_name })
    }

    /// The interfaces and the names of the capabilities that they are.
    pub(crate) fn interfaces(&self) -> BTreeMap<&str, &str> {
        self.by_name.iter().map(|(name, interface)| (interface.path.as_str(), name.as_str())).collect()
    }

    /// The names of the capabilities.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }

    /// The names and interfaces of those that were granted.
    pub(crate) fn texts(&self, granted: &BTreeSet<String>) -> Vec<(String, String)> {
        let granted = self.by_name.iter().filter(|(name, _)| granted.contains(*name));
        granted.map(|(name, interface)| (name.clone(), interface.authority.wit.to_string())).collect()
    }

    /// What a function of those that were granted answers, by its path, with its arguments and its answer in JSON.
    ///
    /// # Errors
    /// There is no such function among them.
    pub(crate) async fn answer(
        &self,
        granted: &BTreeSet<String>,
        path: &str,
        args: &str,
        writable: bool,
    ) -> wasmtime::Result<String> {
        let own = self.by_name.iter().filter(|(name, _)| granted.contains(*name)).map(|(_, own)| own);
        let mut answers = own.filter_map(|interface| {
            let function = interface.functions.iter().find(|function| function.path() == path)?;
            interface.authority.answers.get(&function.name)
        });
        let answers = answers.next().ok_or_else(|| wasmtime::Error::msg(format!("nobody answers `{path}`")))?;
        let answered = answers(Asked { args: serde_json::from_str(args)?, writable }).await;
        Ok(serde_json::to_string(&answered)?)
    }

    /// Links those that were granted.
    pub(crate) fn link(&self, linker: &mut Linker<State>, granted: &BTreeSet<String>) -> wasmtime::Result<()> {
        for interface in self.by_name.iter().filter(|(name, _)| granted.contains(*name)).map(|(_, own)| own) {
            let mut instance = linker.instance(&interface.path)?;
            for function in &interface.functions {
                let answers = interface.authority.answers.get(&function.name).cloned();
                let function = function.clone();
                instance.func_new_async(&function.name.clone(), move |mut store, _, params, results| {
                    let (answers, function) = (answers.clone(), function.clone());
                    let told = told(&function, params);
                    Box::new(async move {
                        let broken = |why: String| {
                            wasmtime::Error::msg(format!("the program's function `{}` {why}", function.path()))
                        };
                        let args = told.map_err(&broken)?;
                        // As every crossing, it is recorded, or answered as it was recorded.
                        let crossing = (function.path(), args.to_string());
                        let answered: Result<Value, Value> =
                            match store.data_mut().tape.next::<String>(CROSSING, &crossing)? {
                                Some(kept) => serde_json::from_str(&kept)?,
                                None => {
                                    let answers = answers.ok_or_else(|| broken("is not answered".into()))?;
                                    let writable = store.data_mut().files.writable;
                                    let answered = answers(Asked { args, writable }).await;
                                    store.data_mut().tape.keep(CROSSING, &serde_json::to_string(&answered)?)?;
                                    answered
                                }
                            };
                        let value = returned(function.result.as_ref(), answered).map_err(broken)?;
                        if let (Some(place), Some(value)) = (results.first_mut(), value) {
                            *place = value;
                        }
                        Ok(())
                    })
                })?;
            }
        }
        Ok(())
    }
}

fn read(authority: &Authority) -> Result<Interface, String> {
    let (path, functions) = values::interface_of_wit(&authority.wit)?;
    if let Some((function, why)) = functions.refused.first() {
        return Err(format!("its function `{function}` cannot be answered in JSON: {why}"));
    }
    let is_there = |name: &&String| functions.usable.iter().any(|function| function.name == **name);
    if let Some(unknown) = authority.answers.keys().find(|name| !is_there(name)) {
        return Err(format!("its interface `{path}` has no function `{unknown}`"));
    }
    let functions = functions.usable.into_iter().map(Arc::new).collect();
    Ok(Interface { path, functions, authority: authority.clone() })
}

/// The parameters by name.
fn told(function: &Function, params: &[Val]) -> Result<Value, String> {
    let mut members = Map::new();
    for (field, value) in function.params.iter().zip(params) {
        members.insert(field.name.clone(), values::to_json(&field.shape, value)?);
    }
    Ok(Value::Object(members))
}

/// What was answered, as the function's result.
fn returned(shape: Option<&Shape>, answered: Result<Value, Value>) -> Result<Option<Val>, String> {
    let of = |shape: &Option<Box<Shape>>, json: &Value| match shape {
        Some(shape) => values::from_json(shape, json).map(|value| Some(Box::new(value))),
        None => Ok(None),
    };
    let wrong = |why: String| format!("answers what it does not declare: {why}");
    Ok(match (shape, answered) {
        (Some(Shape::Result(ok, _)), Ok(json)) => Some(Val::Result(Ok(of(ok, &json).map_err(wrong)?))),
        (Some(Shape::Result(_, error)), Err(json)) => Some(Val::Result(Err(of(error, &json).map_err(wrong)?))),
        (Some(shape), Ok(json)) => Some(values::from_json(shape, &json).map_err(wrong)?),
        (None, Ok(_)) => None,
        (_, Err(json)) => return Err(format!("failed: {json}")),
    })
}

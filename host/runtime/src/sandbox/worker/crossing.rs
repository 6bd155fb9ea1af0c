//! What does a component in another process get of its capabilities? Each question names one function, as the tape does,
//! and is answered by the same code that answers a component in this process, if the capability was granted. Must not know
//! how questions and answers travel.

use crate::sandbox::State;
use crate::sandbox::bindings::hermes::tool::{files, invoke, process};
use crate::sandbox::capability::embedder::{CROSSING, Embedder};
use crate::tape::{Raw, RawRef};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;
use wasmtime::component::Resource;

/// Answers one question.
///
/// # Errors
/// A function that was not granted or that nobody knows, arguments that are none, a handle that is not the component's, a
/// limit.
pub(super) async fn answer(
    state: &mut State,
    embedder: &Embedder,
    granted: &BTreeSet<String>,
    name: &str,
    args: &[u8],
) -> wasmtime::Result<Vec<u8>> {
    if name == CROSSING {
        let (path, args): (String, String) = read(args)?;
        let writable = state.files.writable;
        return write(&embedder.answer(granted, &path, &args, writable).await?);
    }
    let capability = name.split('.').next().unwrap_or_default();
    if !granted.contains(capability) {
        return Err(wasmtime::Error::msg(format!("the component asks for `{name}`, which was not granted")));
    }
    match capability {
        "files" => of_files(state, name, args).await,
        "process" => of_process(state, name, args).await,
        "invoke" => of_invoke(state, name, args).await,
        #[cfg(feature = "mcp")]
        "mcp" => of_mcp(state, name, args).await,
        _ => Err(unknown(name)),
    }
}

fn unknown(name: &str) -> wasmtime::Error {
    wasmtime::Error::msg(format!("the component asks for `{name}`, which is nothing that can be asked"))
}

fn read<T: DeserializeOwned>(args: &[u8]) -> wasmtime::Result<T> {
    Ok(postcard::from_bytes(args)?)
}

fn write(answer: &impl Serialize) -> wasmtime::Result<Vec<u8>> {
    Ok(postcard::to_allocvec(answer)?)
}

async fn of_files(state: &mut State, name: &str, args: &[u8]) -> wasmtime::Result<Vec<u8>> {
    use files::{Expectation, Host, HostReader};
    let reader = |args: &[u8]| read(args).map(Resource::new_own);
    match name {
        "files.grants" => write(&Host::grants(state)?),
        "files.stat" => write(&Host::stat(state, read(args)?).await?),
        "files.open" => write(&Host::open(state, read(args)?).await?.as_ref().map(Resource::rep)),
        "files.list-directory" => {
            let (path, after, limit) = read(args)?;
            write(&Host::list_directory(state, path, after, limit).await?)
        }
        "files.make-directory" => write(&Host::make_directory(state, read(args)?).await?),
        "files.write" => {
            let (path, Raw(content), expect): (_, _, Expectation) = read(args)?;
            write(&Host::write(state, path, content, expect).await?)
        }
        "files.append" => {
            let (path, Raw(content), expect): (_, _, Expectation) = read(args)?;
            write(&Host::append(state, path, content, expect).await?)
        }
        "files.reader.size" => write(&HostReader::size(state, reader(args)?)?),
        "files.reader.read" => {
            let (rep, offset, length) = read(args)?;
            let read = HostReader::read(state, Resource::new_own(rep), offset, length).await?;
            write(&read.as_ref().map(|bytes| RawRef(bytes)))
        }
        "files.reader.digest" => write(&HostReader::digest(state, reader(args)?).await?),
        "files.reader.drop" => write(&HostReader::drop(state, reader(args)?)?),
        _ => Err(unknown(name)),
    }
}

async fn of_process(state: &mut State, name: &str, args: &[u8]) -> wasmtime::Result<Vec<u8>> {
    use process::{Host, HostChild};
    let child = |args: &[u8]| read(args).map(Resource::new_own);
    match name {
        "process.spawn" => write(&Host::spawn(state, read(args)?).await?.as_ref().map(Resource::rep)),
        "process.hidden" => write(&Host::hidden(state).await?),
        "process.ready" => write(&Host::ready(state).await?),
        "process.child.next" => write(&HostChild::next(state, child(args)?).await?),
        "process.child.drop" => write(&HostChild::drop(state, child(args)?).await?),
        _ => Err(unknown(name)),
    }
}

async fn of_invoke(state: &mut State, name: &str, args: &[u8]) -> wasmtime::Result<Vec<u8>> {
    use invoke::Host;
    match name {
        "invoke.granted" => write(&Host::granted(state)?),
        "invoke.call" => {
            let (tool, args) = read(args)?;
            write(&Host::call(state, tool, args).await?)
        }
        _ => Err(unknown(name)),
    }
}

#[cfg(feature = "mcp")]
async fn of_mcp(state: &mut State, name: &str, args: &[u8]) -> wasmtime::Result<Vec<u8>> {
    use crate::sandbox::bindings::hermes::tool::mcp::Host;
    match name {
        "mcp.bound" => write(&Host::bound(state).await?),
        "mcp.request" => write(&Host::request(state, read(args)?).await?),
        "mcp.ready" => write(&Host::ready(state).await?),
        _ => Err(unknown(name)),
    }
}

//! Every crossing of the border of a component's capabilities, by way of the tape: recorded as it is answered, or answered
//! as it was recorded. What a capability does stands in its own file; here each of its functions has one line.

use super::files::Reader;
use super::process::Child;
use crate::sandbox::State;
use crate::sandbox::bindings::hermes::tool::{files, invoke, process};
use crate::tape::{Raw, RawRef, Tape};
use wasmtime::component::{HasData, Resource};

/// The state of an attempt, with its tape between it and the component.
pub(crate) struct Taped<'a>(pub(crate) &'a mut State);

/// How the linker gets it.
pub(crate) struct ByTape;

impl HasData for ByTape {
    type Data<'a> = Taped<'a>;
}

impl Taped<'_> {
    /// What is let go of, if it is not here: nothing while a recording is played, and told where it is asked for.
    fn let_go(&mut self, name: &'static str, handle: u32) -> Option<wasmtime::Result<()>> {
        match self.0.tape {
            Tape::Off | Tape::Recording(_) => None,
            Tape::Playing(_) => Some(Ok(())),
            Tape::Asking(_) => Some(self.0.tape.next::<()>(name, &handle).map(|_| ())),
        }
    }
}

/// One crossing: the recorded answer, or the live one, which is recorded. The second form says how an answer is written
/// down and read, for those that are no plain data.
macro_rules! crossing {
    ($taped:ident, $name:literal, $args:expr, $live:expr) => {
        match $taped.0.tape.next($name, &$args)? {
            Some(answer) => Ok(answer),
            None => {
                let answer = $live?;
                $taped.0.tape.keep($name, &answer)?;
                Ok(answer)
            }
        }
    };
    ($taped:ident, $name:literal, $args:expr, $live:expr, |$kept:ident| $write:expr, |$played:ident: $form:ty| $read:expr) => {
        match $taped.0.tape.next::<$form>($name, &$args)? {
            Some($played) => Ok($read),
            None => {
                let answer = $live?;
                let $kept = &answer;
                $taped.0.tape.keep($name, &$write)?;
                Ok(answer)
            }
        }
    };
}

impl files::Host for Taped<'_> {
    fn grants(&mut self) -> wasmtime::Result<Vec<files::Grant>> {
        crossing!(self, "files.grants", (), files::Host::grants(self.0))
    }

    async fn stat(&mut self, path: String) -> wasmtime::Result<Result<files::Status, files::Failure>> {
        crossing!(self, "files.stat", path, files::Host::stat(self.0, path).await)
    }

    async fn open(&mut self, path: String) -> wasmtime::Result<Result<Resource<Reader>, files::Failure>> {
        crossing!(
            self,
            "files.open",
            path,
            files::Host::open(self.0, path).await,
            |opened| opened.as_ref().map(Resource::rep),
            |opened: Result<u32, files::Failure>| opened.map(Resource::new_own)
        )
    }

    async fn list_directory(
        &mut self,
        path: String,
        after: Option<String>,
        limit: u32,
    ) -> wasmtime::Result<Result<Vec<files::Entry>, files::Failure>> {
        crossing!(
            self,
            "files.list-directory",
            (&path, &after, limit),
            files::Host::list_directory(self.0, path, after, limit).await
        )
    }

    async fn make_directory(&mut self, path: String) -> wasmtime::Result<Result<(), files::Failure>> {
        crossing!(self, "files.make-directory", path, files::Host::make_directory(self.0, path).await)
    }

    async fn write(
        &mut self,
        path: String,
        content: Vec<u8>,
        expect: files::Expectation,
    ) -> wasmtime::Result<Result<files::Written, files::Failure>> {
        crossing!(
            self,
            "files.write",
            (&path, RawRef(&content), &expect),
            files::Host::write(self.0, path, content, expect).await
        )
    }

    async fn append(
        &mut self,
        path: String,
        content: Vec<u8>,
        expect: files::Expectation,
    ) -> wasmtime::Result<Result<files::Written, files::Failure>> {
        crossing!(
            self,
            "files.append",
            (&path, RawRef(&content), &expect),
            files::Host::append(self.0, path, content, expect).await
        )
    }
}

impl files::HostReader for Taped<'_> {
    fn size(&mut self, reader: Resource<Reader>) -> wasmtime::Result<u64> {
        crossing!(self, "files.reader.size", reader.rep(), files::HostReader::size(self.0, reader))
    }

    async fn read(
        &mut self,
        reader: Resource<Reader>,
        offset: u64,
        length: u32,
    ) -> wasmtime::Result<Result<Vec<u8>, files::Failure>> {
        crossing!(
            self,
            "files.reader.read",
            (reader.rep(), offset, length),
            files::HostReader::read(self.0, reader, offset, length).await,
            |read| read.as_ref().map(|bytes| RawRef(bytes)),
            |read: Result<Raw, files::Failure>| read.map(|bytes| bytes.0)
        )
    }

    async fn digest(&mut self, reader: Resource<Reader>) -> wasmtime::Result<Result<String, files::Failure>> {
        crossing!(self, "files.reader.digest", reader.rep(), files::HostReader::digest(self.0, reader).await)
    }

    fn drop(&mut self, reader: Resource<Reader>) -> wasmtime::Result<()> {
        let elsewhere = self.let_go("files.reader.drop", reader.rep());
        elsewhere.unwrap_or_else(|| files::HostReader::drop(self.0, reader))
    }
}

impl process::Host for Taped<'_> {
    async fn spawn(
        &mut self,
        command: process::Command,
    ) -> wasmtime::Result<Result<Resource<Child>, process::Failure>> {
        crossing!(
            self,
            "process.spawn",
            command,
            process::Host::spawn(self.0, command).await,
            |spawned| spawned.as_ref().map(Resource::rep),
            |spawned: Result<u32, process::Failure>| spawned.map(Resource::new_own)
        )
    }

    async fn hidden(&mut self) -> wasmtime::Result<Vec<String>> {
        crossing!(self, "process.hidden", (), process::Host::hidden(self.0).await)
    }

    async fn ready(&mut self) -> wasmtime::Result<Result<(), process::Failure>> {
        crossing!(self, "process.ready", (), process::Host::ready(self.0).await)
    }
}

impl process::HostChild for Taped<'_> {
    async fn next(&mut self, child: Resource<Child>) -> wasmtime::Result<process::Event> {
        crossing!(self, "process.child.next", child.rep(), process::HostChild::next(self.0, child).await)
    }

    async fn drop(&mut self, child: Resource<Child>) -> wasmtime::Result<()> {
        match self.let_go("process.child.drop", child.rep()) {
            Some(elsewhere) => elsewhere,
            None => process::HostChild::drop(self.0, child).await,
        }
    }
}

impl invoke::Host for Taped<'_> {
    fn granted(&mut self) -> wasmtime::Result<Vec<String>> {
        crossing!(self, "invoke.granted", (), invoke::Host::granted(self.0))
    }

    async fn call(&mut self, tool: String, args: String) -> wasmtime::Result<Result<invoke::Answer, invoke::Failure>> {
        crossing!(self, "invoke.call", (&tool, &args), invoke::Host::call(self.0, tool, args).await)
    }
}

#[cfg(feature = "mcp")]
mod mcp {
    use super::{State, Taped};
    use crate::sandbox::bindings::hermes::tool::mcp::{Binding, Failure, Host};

    impl Host for Taped<'_> {
        async fn bound(&mut self) -> wasmtime::Result<Result<Binding, Failure>> {
            crossing!(self, "mcp.bound", (), <State as Host>::bound(self.0).await)
        }

        async fn request(&mut self, parameters: String) -> wasmtime::Result<Result<String, Failure>> {
            crossing!(self, "mcp.request", parameters, <State as Host>::request(self.0, parameters).await)
        }

        async fn ready(&mut self) -> wasmtime::Result<Result<(), Failure>> {
            crossing!(self, "mcp.ready", (), <State as Host>::ready(self.0).await)
        }
    }
}

#[cfg(feature = "http")]
mod secrets {
    use super::{State, Taped};
    use crate::sandbox::bindings::hermes::tool::secrets::{Host, Reason};

    impl Host for Taped<'_> {
        fn names(&mut self) -> wasmtime::Result<Vec<String>> {
            crossing!(self, "secrets.names", (), <State as Host>::names(self.0))
        }

        fn handle(&mut self, name: String) -> wasmtime::Result<Result<String, Reason>> {
            crossing!(self, "secrets.handle", name, <State as Host>::handle(self.0, name))
        }
    }
}

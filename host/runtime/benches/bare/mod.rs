//! The reference: Wasmtime with the same engine settings and nothing of the seven steps.

use hermes_runtime::sandbox::settings;
use std::path::PathBuf;
use std::time::Duration;
use wasmtime::component::{Component, HasSelf, Linker, Resource, ResourceTable};
use wasmtime::{Engine, ResourceLimiter, Store, UpdateDeadline};
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};

wasmtime::component::bindgen!({
    path: "../../wit",
    world: "hermes:tool/file-tool",
    imports: { default: async | trappable },
    exports: { default: async },
    with: { "hermes:tool/files.reader": Reader },
});

use hermes::tool::files::{Entry, Expectation, Failure, Grant, Host, HostReader, Reason, Status, Written};
use hermes::tool::types::{Call, Context};

/// A component, ready to be called.
pub(crate) struct Bare {
    engine: Engine,
    pre: FileToolPre<State>,
    folder: Option<PathBuf>,
}

#[expect(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct Reader(Vec<u8>);

pub(crate) struct State {
    wasi: WasiCtx,
    table: ResourceTable,
    limits: Limits,
    folder: Option<PathBuf>,
}

struct Limits(usize);

impl ResourceLimiter for Limits {
    fn memory_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        self.0 += desired - current;
        Ok(self.0 <= 64 << 20)
    }

    fn table_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        Ok(desired <= 100_000)
    }
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl Bare {
    pub(crate) async fn new(component: &[u8], folder: Option<PathBuf>) -> Bare {
        let engine = Engine::new(&settings(64, 1 << 30)).unwrap();
        let ticking = engine.weak();
        std::thread::spawn(move || {
            while let Some(engine) = ticking.upgrade() {
                engine.increment_epoch();
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        let component = Component::new(&engine, component).unwrap();
        let mut linker = Linker::new(&engine);
        wasmtime_wasi::p2::add_to_linker_async(&mut linker).unwrap();
        FileTool::add_to_linker::<State, HasSelf<State>>(&mut linker, |state| state).unwrap();
        let pre = FileToolPre::new(linker.instantiate_pre(&component).unwrap()).unwrap();
        Bare { engine, pre, folder }
    }

    pub(crate) async fn call(&self, tool: &str, args: &str) {
        let state = State {
            wasi: WasiCtxBuilder::new().build(),
            table: ResourceTable::new(),
            limits: Limits(0),
            folder: self.folder.clone(),
        };
        let mut store = Store::new(&self.engine, state);
        store.limiter(|state| &mut state.limits);
        store.set_fuel(10_000_000_000).unwrap();
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(|_| Ok(UpdateDeadline::Yield(1)));
        let instance = self.pre.instantiate_async(&mut store).await.unwrap();
        let context = Context { call_id: "bare".into(), attempt: 1, deadline_ms: 30_000, task: None };
        let call = Call { tool: tool.to_owned(), args: args.to_owned(), context };
        let output = instance.hermes_tool_tool_execution().call_execute(&mut store, &call).await.unwrap();
        assert!(output.is_ok(), "{output:?}");
    }
}

impl hermes::tool::types::Host for State {}

impl hermes::tool::log::Host for State {
    async fn write(&mut self, _: hermes::tool::log::Level, _: String) -> wasmtime::Result<()> {
        Ok(())
    }
}

impl hermes::tool::progress::Host for State {
    async fn report(&mut self, _: hermes::tool::types::ProgressUpdate) -> wasmtime::Result<()> {
        Ok(())
    }

    async fn partial(&mut self, _: String) -> wasmtime::Result<()> {
        Ok(())
    }

    async fn cancelled(&mut self) -> wasmtime::Result<bool> {
        Ok(false)
    }
}

fn refused<T>() -> wasmtime::Result<Result<T, Failure>> {
    Ok(Err(Failure { reason: Reason::Io, message: "not in the bench".into() }))
}

/// Files as a host would serve them that checks nothing: one blocking hop for opening and reading, digests in place.
impl Host for State {
    async fn grants(&mut self) -> wasmtime::Result<Vec<Grant>> {
        Ok(vec![Grant { name: "/workspace".into(), writable: false }])
    }

    async fn stat(&mut self, _: String) -> wasmtime::Result<Result<Status, Failure>> {
        refused()
    }

    async fn open(&mut self, path: String) -> wasmtime::Result<Result<Resource<Reader>, Failure>> {
        let file = self.folder.as_ref().unwrap().join(path.trim_start_matches("/workspace/"));
        let bytes = tokio::task::spawn_blocking(move || std::fs::read(file).unwrap()).await?;
        Ok(Ok(self.table.push(Reader(bytes))?))
    }

    async fn list_directory(
        &mut self,
        _: String,
        _: Option<String>,
        _: u32,
    ) -> wasmtime::Result<Result<Vec<Entry>, Failure>> {
        refused()
    }

    async fn make_directory(&mut self, _: String) -> wasmtime::Result<Result<(), Failure>> {
        refused()
    }

    async fn write(&mut self, _: String, _: Vec<u8>, _: Expectation) -> wasmtime::Result<Result<Written, Failure>> {
        refused()
    }

    async fn append(&mut self, _: String, _: Vec<u8>, _: Expectation) -> wasmtime::Result<Result<Written, Failure>> {
        refused()
    }
}

impl HostReader for State {
    async fn size(&mut self, reader: Resource<Reader>) -> wasmtime::Result<u64> {
        Ok(self.table.get(&reader)?.0.len() as u64)
    }

    async fn read(
        &mut self,
        reader: Resource<Reader>,
        offset: u64,
        length: u32,
    ) -> wasmtime::Result<Result<Vec<u8>, Failure>> {
        let bytes = &self.table.get(&reader)?.0;
        let from = (offset as usize).min(bytes.len());
        let to = (from + length as usize).min(bytes.len());
        Ok(Ok(bytes[from..to].to_vec()))
    }

    async fn digest(&mut self, reader: Resource<Reader>) -> wasmtime::Result<Result<String, Failure>> {
        Ok(Ok(hermes_runtime::call::Digest::of(&self.table.get(&reader)?.0).to_string()))
    }

    async fn drop(&mut self, reader: Resource<Reader>) -> wasmtime::Result<()> {
        self.table.delete(reader)?;
        Ok(())
    }
}

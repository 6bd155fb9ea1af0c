//! WASI with empty authority: no directories, no environment, no sockets, standard input closed. It is there because
//! the standard libraries of many languages import it whether they use it or not. What a component prints goes into
//! the call's log.

use crate::sandbox::State;
use wasmtime::component::{Linker, ResourceTable};
use wasmtime_wasi::p2::pipe::MemoryOutputPipe;
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};

/// Most bytes of randomness for one request of a component.
const RANDOM: u64 = 1 << 20;

/// Most things that a component holds open at the same time.
const HANDLES: usize = 10_000;

/// WASI of one attempt.
pub(crate) struct Wasi {
    ctx: WasiCtx,
    pub(crate) table: ResourceTable,
    printed: MemoryOutputPipe,
}

impl Wasi {
    pub(crate) fn empty(log_bytes: usize) -> Wasi {
        let printed = MemoryOutputPipe::new(log_bytes);
        let ctx = WasiCtxBuilder::new()
            .stdout(printed.clone())
            .stderr(printed.clone())
            .allow_tcp(false)
            .allow_udp(false)
            .allow_ip_name_lookup(false)
            .max_random_size(RANDOM)
            .build();
        let mut table = ResourceTable::new();
        table.set_max_capacity(HANDLES);
        Wasi { ctx, table, printed }
    }

    /// What the component printed.
    pub(crate) fn printed(&self) -> Vec<u8> {
        self.printed.contents().to_vec()
    }
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi.ctx, table: &mut self.wasi.table }
    }
}

pub(super) fn link(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    wasmtime_wasi::p2::add_to_linker_async(linker)
}

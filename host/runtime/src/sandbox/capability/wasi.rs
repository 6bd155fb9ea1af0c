//! WASI with empty authority: no directories, no environment, no sockets, standard input closed. It is there because
//! the standard libraries of many languages import it whether they use it or not. What a component prints goes into
//! the call's log. Each look at a clock is noted, and random numbers follow from the call's seed.

use super::log::{Log, Stream};
use crate::sandbox::State;
use crate::sandbox::fixed::{Clock, Seeded};
use crate::sandbox::limits::Limits;
use bytes::Bytes;
use std::pin::Pin;
use std::task::{Context, Poll};
use wasmtime::component::{Linker, ResourceTable};
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamError};
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};

/// Most bytes of randomness for one request of a component.
const RANDOM: u64 = 1 << 20;
/// What a stream takes in one write.
const WRITE: usize = 64 << 10;

/// WASI of one attempt.
pub(crate) struct Wasi {
    /// Made when the component first asks for something of it; many never do.
    ctx: Option<Box<WasiCtx>>,
    log: Log,
    clock: Clock,
    seed: [u8; 32],
    pub(crate) table: ResourceTable,
}

impl Wasi {
    pub(crate) fn empty(limits: &Limits, log: &Log, clock: Clock, seed: [u8; 32]) -> Wasi {
        let mut table = ResourceTable::new();
        table.set_max_capacity(limits.handles);
        Wasi { ctx: None, log: log.clone(), clock, seed, table }
    }
}

fn context(log: &Log, clock: &Clock, seed: [u8; 32]) -> WasiCtx {
    WasiCtxBuilder::new()
        .stdout(Printed { log: log.clone(), stream: Stream::Out })
        .stderr(Printed { log: log.clone(), stream: Stream::Err })
        .allow_tcp(false)
        .allow_udp(false)
        .allow_ip_name_lookup(false)
        .max_random_size(RANDOM)
        .secure_random(Seeded::new(seed, "secure"))
        .insecure_random(Seeded::new(seed, "insecure"))
        .insecure_random_seed(Seeded::new(seed, "seed").next_u128())
        .wall_clock(clock.clone())
        .monotonic_clock(clock.clone())
        .build()
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        let Wasi { ctx, log, clock, seed, table } = &mut self.wasi;
        WasiCtxView { ctx: ctx.get_or_insert_with(|| Box::new(context(log, clock, *seed))), table }
    }
}

pub(super) fn link(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    wasmtime_wasi::p2::add_to_linker_async(linker)
}

/// A stream that ends in the call's log.
#[derive(Clone)]
struct Printed {
    log: Log,
    stream: Stream,
}

impl IsTerminal for Printed {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Printed {
    fn async_stream(&self) -> Box<dyn tokio::io::AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for Printed {
    async fn ready(&mut self) {}
}

#[wasmtime_wasi::async_trait]
impl OutputStream for Printed {
    fn write(&mut self, bytes: Bytes) -> Result<(), StreamError> {
        self.log.print(self.stream, &bytes).map_err(|hit| StreamError::Trap(wasmtime::Error::new(hit)))
    }

    fn flush(&mut self) -> Result<(), StreamError> {
        Ok(())
    }

    /// Never says that it is full: a component that prints too much is ended with a kind of its own, rather than left
    /// to make something of a closed stream.
    fn check_write(&mut self) -> Result<usize, StreamError> {
        Ok(WRITE)
    }
}

impl tokio::io::AsyncWrite for Printed {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<std::io::Result<usize>> {
        Poll::Ready(self.log.print(self.stream, bytes).map(|()| bytes.len()).map_err(std::io::Error::other))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

//! What does the process do that runs a component? It reads the call and the code, runs them with nothing of its own in
//! reach, asks the runtime for what the component's capabilities do, and says what came of it. Must not touch anything but
//! its pipes.

use super::wire::{self, ANSWERED, CANCELLED, REFUSED, SAID};
use super::{Answer, Ask, Ended, SOCKET, Said, Task};
use crate::authority::Authority;
use crate::call::Progress;
use crate::cancel::Cancel;
use crate::config::Config;
use crate::envelope::Usage;
use crate::sandbox::attempt::{self, Surroundings};
use crate::sandbox::capability::progress::Unmasked;
use crate::sandbox::entry::{Entry, Exports};
use crate::sandbox::fixed::{Clock, FixedClock, Shown};
use crate::sandbox::{Listener, Sandbox, capability, failure, install, output, values};
use crate::tape::{Tape, Times};
use std::ffi::OsStr;
use std::io::{Read, Write};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use wasmtime::component::Linker;

/// Updates of progress that wait.
const UPDATES: usize = 64;

/// Where what is said goes. Each piece is written whole.
#[derive(Clone)]
struct Mouth(Arc<Mutex<Box<dyn Write + Send>>>);

impl Mouth {
    fn say(&self, piece: &[u8]) -> Result<(), String> {
        let mut out = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        out.write_all(piece).and_then(|()| out.flush()).map_err(|error| error.to_string())
    }

    fn tell(&self, said: &Said) -> Result<(), String> {
        let said = serde_json::to_vec(said).map_err(|error| error.to_string())?;
        self.say(&wire::piece(SAID, &[&said]))
    }
}

/// The process: reads, runs, says what came of it, and gives what it should exit with.
///
/// `word` is its second argument.
pub(crate) fn serve(word: Option<&OsStr>) -> i32 {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let worked = runtime
        .map_err(|error| error.to_string())
        .and_then(|runtime| runtime.block_on(work_once(word.is_some_and(|word| word == SOCKET))));
    match worked {
        Ok(()) => 0,
        Err(why) => {
            let _ = writeln!(std::io::stderr(), "{why}");
            1
        }
    }
}

/// The ear and the mouth.
fn pipes(is_socket: bool) -> std::io::Result<(Box<dyn Read + Send>, Mouth)> {
    use std::os::fd::AsFd;
    let mouth = |out: Box<dyn Write + Send>| Mouth(Arc::new(Mutex::new(out)));
    if !is_socket {
        return Ok((Box::new(std::io::stdin()), mouth(Box::new(std::io::stdout()))));
    }
    let socket = std::os::unix::net::UnixStream::from(std::io::stdout().as_fd().try_clone_to_owned()?);
    Ok((Box::new(socket.try_clone()?), mouth(Box::new(socket))))
}

async fn work_once(is_socket: bool) -> Result<(), String> {
    let text = |error: std::io::Error| error.to_string();
    let (mut input, mouth) = pipes(is_socket).map_err(text)?;
    let (kind, length) = piece_head(&mut input).map_err(text)?;
    if kind != SAID {
        return Err("this program runs a component for another one, which said nothing of that".into());
    }
    let head = bytes(&mut input, length)?;
    let task: Task = serde_json::from_slice(&head).map_err(|error| error.to_string())?;
    let component = bytes(&mut input, task.component)?;
    let code = bytes(&mut input, task.code)?;
    // The attempt is ended by whoever waits for it; this ends it so that it can be told apart.
    let deadline = Instant::now() + Duration::from_millis(task.left_ms);
    let (cancel, (sender, answers)) = (Cancel::default(), std::sync::mpsc::channel());
    let hearing = cancel.clone();
    std::thread::Builder::new()
        .name("hermes-ear".into())
        .spawn(move || hear(input, &hearing, &sender))
        .map_err(text)?;
    let ended = work(task, &component, &code, deadline, (&mouth, cancel, answers)).await?;
    mouth.tell(&Said::Ended(Box::new(ended)))
}

fn piece_head(input: &mut impl Read) -> std::io::Result<(u8, usize)> {
    let mut head = [0; 5];
    input.read_exact(&mut head)?;
    Ok(wire::head(head))
}

fn bytes(input: &mut impl Read, length: usize) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let read = input.take(length as u64).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if read == length { Ok(bytes) } else { Err("what this program was to run is cut".into()) }
}

/// Takes what the runtime says until that lets go, which ends this process.
fn hear(mut input: Box<dyn Read + Send>, cancel: &Cancel, answers: &Sender<Result<Vec<u8>, String>>) {
    loop {
        let heard = piece_head(&mut input).map_err(|error| error.to_string());
        let heard = heard.and_then(|(kind, length)| Ok((kind, bytes(&mut input, length)?)));
        let _ = match heard {
            Ok((CANCELLED, _)) => {
                cancel.tell();
                Ok(())
            }
            Ok((ANSWERED, answer)) => answers.send(Ok(answer)),
            Ok((REFUSED, why)) => answers.send(Err(String::from_utf8_lossy(&why).into_owned())),
            Ok(_) | Err(_) => std::process::exit(0),
        };
    }
}

/// What is around the component instead of the world.
type Around<'a> = (&'a Mouth, Cancel, Receiver<Result<Vec<u8>, String>>);

async fn work(
    task: Task,
    component: &[u8],
    code: &[u8],
    deadline: Instant,
    (mouth, cancel, answers): Around<'_>,
) -> Result<Ended, String> {
    let Task { ask, limits, seed, fixed, memory, capabilities, authorities, by_functions, .. } = task;
    let broken = |error: wasmtime::Error| format!("{error:#}");
    let mut config = Config::new("/tmp/state", "/tmp/cache");
    (config.ceiling.memory_mb, config.ceiling.concurrent_calls) = (memory as u64 >> 20, 1);
    config.authorities = authorities.iter().map(|(name, wit)| Authority::new(name, wit)).collect();
    let sandbox = Sandbox::start(&config, Vec::new())?;
    let engine = &sandbox.ticking.engine;
    let loaded = install::loaded(engine, code).map_err(broken)?;
    let mut linker = Linker::new(engine);
    capability::link(&mut linker, &capabilities).map_err(broken)?;
    sandbox.embedder.link(&mut linker, &capabilities).map_err(broken)?;
    let pre = linker.instantiate_pre(&loaded).map_err(broken)?;
    let entry = match by_functions {
        false => Entry::Contract(Exports::of(pre).map_err(broken)?),
        true => Entry::Functions(pre, values::functions_of(component)?.usable),
    };
    let (sender, updates) = tokio::sync::mpsc::channel(UPDATES);
    let telling = {
        let mouth = mouth.clone();
        let tell = move || tell(updates, &mouth);
        std::thread::Builder::new().name("hermes-mouth".into()).spawn(tell).map_err(|error| error.to_string())?
    };
    let started = Instant::now();
    let shown = fixed.map_or(Shown::Real(started), |fixed| Shown::Fixed(FixedClock::new(&fixed)));
    let clock = Clock { shown, times: Times::default() };
    let (progress, tape) = (Some(Listener::new(sender, Arc::new(Unmasked))), asking(mouth.clone(), answers));
    let surroundings = Surroundings { progress, cancel: Some(cancel), clock, seed, tape };
    let _tick = sandbox.ticking.hold();
    let mut store =
        attempt::store(&sandbox, sandbox.no_reach(deadline), &limits, deadline, surroundings).map_err(broken)?;
    let mut bytes = (0, 0);
    let asked = async {
        Ok::<Answer, wasmtime::Error>(match &ask {
            Ask::Call(call) => {
                bytes.0 = call.args.len() as u64;
                Answer::Returned(entry.execute(&mut store, call).await?)
            }
            Ask::Health => Answer::Healthy(entry.check_health(&mut store).await?),
            Ask::Description => Answer::Described(entry.describe(&mut store).await?),
        })
    };
    let answered = tokio::time::timeout_at(deadline.into(), asked).await;
    let answer = match answered {
        Ok(Ok(answer)) => answer,
        Ok(Err(error)) => match failure::from_trap("", store.data().meter.hit, &limits, &error) {
            Some(failed) => {
                let failed = crate::error::Failure::from(failed);
                Answer::Broke(failed.kind, failed.reason.map(Into::into), failed.log)
            }
            None => Answer::Late,
        },
        Err(_) => Answer::Late,
    };
    if let Answer::Returned(Ok(returned)) = &answer {
        bytes.1 = output::size(returned) as u64;
    }
    // Nothing is told any more, and what was told is out before the answer.
    store.data_mut().progress = None;
    let _ = telling.join();
    let state = store.data();
    let usage = Usage {
        fuel: limits.fuel.saturating_sub(store.get_fuel().unwrap_or(0)),
        memory_bytes: state.meter.memory_peak as u64,
        host_calls: state.meter.host_calls,
        bytes_in: bytes.0,
        bytes_out: bytes.1,
        bytes_across: state.meter.bytes,
        cpu_us: attempt::time_of_thread().as_micros() as u64,
        wall_us: started.elapsed().as_micros() as u64,
        attempts: 1,
    };
    Ok(Ended { answer, usage, log: state.log.collect() })
}

/// Says what is told, on a thread of its own: the component may run or wait meanwhile.
fn tell(mut updates: tokio::sync::mpsc::Receiver<Progress>, mouth: &Mouth) {
    while let Some(update) = updates.blocking_recv() {
        if mouth.tell(&Said::Progress(update)).is_err() {
            return;
        }
    }
}

/// Each crossing of the border of a capability is a question to the runtime. Nothing else happens here until it answers.
fn asking(mouth: Mouth, answers: Receiver<Result<Vec<u8>, String>>) -> Tape {
    let answers = Mutex::new(answers);
    Tape::asking(move |name, args| {
        mouth.say(&wire::question(name, &args))?;
        let answers = answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.recv().unwrap_or_else(|_| Err("the runtime has let go of it".into()))
    })
}

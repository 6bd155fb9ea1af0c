//! Where does the log go? To standard error, through a queue that never blocks: a client that starts the command and
//! never reads its log would otherwise stop it. What does not fit is left out and counted.

use crate::args::Arguments;
use crate::output;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

/// Log entries that wait to be written.
const QUEUE: usize = 1024;
/// How long the end of the process waits for the log.
const FINISH: Duration = Duration::from_millis(200);

/// The log of this process. Lifetime: the process.
pub(crate) struct Log {
    queue: Queue,
    finished: Receiver<()>,
}

/// The end of the queue that the log is written to.
#[derive(Clone)]
struct Queue {
    entries: SyncSender<Entry>,
    left_out: Arc<AtomicU64>,
}

enum Entry {
    Text(Vec<u8>),
    End,
}

/// Starts the log. `HERMES_LOG` chooses what is in it.
pub(crate) fn start(arguments: &Arguments) -> Log {
    let level = match (arguments.verbose, arguments.may_ask()) {
        (true, _) => "info",
        // Who serves has no other place to say what is wrong. The protocol library reports each refusal twice.
        (false, false) => "warn,rmcp=error",
        (false, true) => "error",
    };
    let (entries, written) = sync_channel(QUEUE);
    let queue = Queue { entries, left_out: Arc::default() };
    let (finish, finished) = sync_channel(1);
    let left_out = queue.left_out.clone();
    // A thread of its own, because standard error may block for ever; the end of the process ends it.
    let started = std::thread::Builder::new().name("hermes-log".into()).spawn(move || {
        write(&written, &left_out);
        let _ = finish.send(());
    });
    if let Err(error) = started {
        eprintln!("the log cannot be written: {error}");
    }
    let filter = tracing_subscriber::EnvFilter::try_from_env("HERMES_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new(level));
    let writer = queue.clone();
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(move || writer.clone())
        .with_ansi(output::colours(&std::io::stderr()))
        .without_time()
        .init();
    Log { queue, finished }
}

impl Log {
    /// Writes what waits, unless nobody reads it.
    pub(crate) fn finish(self) {
        if self.queue.entries.try_send(Entry::End).is_ok() {
            let _ = self.finished.recv_timeout(FINISH);
        }
    }
}

impl Write for Queue {
    fn write(&mut self, text: &[u8]) -> std::io::Result<usize> {
        if self.entries.try_send(Entry::Text(text.to_vec())).is_err() {
            self.left_out.fetch_add(1, Ordering::Relaxed);
        }
        Ok(text.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn write(written: &Receiver<Entry>, left_out: &AtomicU64) {
    let mut stderr = std::io::stderr();
    while let Ok(Entry::Text(text)) = written.recv() {
        let _ = stderr.write_all(&text);
        let count = left_out.swap(0, Ordering::Relaxed);
        if count > 0 {
            let _ = writeln!(stderr, "{count} entries of the log were left out, because nobody read it");
        }
    }
}

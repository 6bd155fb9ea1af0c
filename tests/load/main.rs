//! How do many clients at once fare with a server of the protocol? Sends calls whose answers differ, and counts what is
//! lost, what comes back to the wrong call, how long each takes. Must not know whose server it is.
//!
//! usage: `hermes-load http URL CLIENTS CALLS [--token T] [--tool T] [--argument K] [--value V]`
//!        `hermes-load pipe CALLS [--tool …] -- COMMAND…`
//!        `hermes-load nothing`: serves a tool that only echoes, as a measure of the protocol library itself
//!
//! In a value, `{}` becomes the number of the call; an answer is right if it has the words `is {}.` for that number.
//! Prints one JSON object.

mod client;
mod nothing;
mod options;
mod pipe;

use options::Options;
use std::time::Duration;

/// No request takes this long; one that does counts as lost.
const LOST: Duration = Duration::from_secs(60);

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("threads");
    let ended = runtime.block_on(async {
        match words.first().map(String::as_str) {
            Some("http") => client::run(&Options::parse(&words[1..])?).await,
            Some("pipe") => pipe::run(&Options::parse(&words[1..])?).await,
            Some("nothing") => nothing::serve().await,
            _ => Err("say http, pipe or nothing".to_owned()),
        }
    });
    if let Err(why) = ended {
        eprintln!("{why}");
        std::process::exit(1);
    }
}

//! One client over a pair of pipes that sends all its calls without waiting for an answer.
#![expect(clippy::disallowed_methods, reason = "the server under load is started here")]

use crate::LOST;
use crate::options::{Options, Tally, hello, ready};
use serde_json::Value;
use std::collections::HashMap;
use std::process::Stdio;
use std::time::Instant;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{ChildStdout, Command};

/// Calls without an answer at once. A connection may have only so many; a client that knows it waits.
const AT_ONCE: usize = 32;

pub(crate) async fn run(options: &Options) -> Result<(), String> {
    let calls = options.number(0)?;
    let (program, words) = options.command.split_first().ok_or("which command?")?;
    let mut child = Command::new(program)
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| format!("{program}: {error}"))?;
    let mut input = child.stdin.take().ok_or("no input")?;
    let mut lines = BufReader::new(child.stdout.take().ok_or("no output")?).lines();
    let mut send = async |message: Value| {
        input.write_all(format!("{message}\n").as_bytes()).await.map_err(|error| error.to_string())
    };
    send(hello()).await?;
    next(&mut lines).await?;
    send(ready()).await?;

    let began = Instant::now();
    let mut open: HashMap<usize, Instant> = HashMap::new();
    let mut tally = Tally::default();
    let mut sent = 0;
    while sent < calls || !open.is_empty() {
        while sent < calls && open.len() < AT_ONCE {
            open.insert(sent, Instant::now());
            send(options.call(sent)).await?;
            sent += 1;
        }
        let Ok(answer) = tokio::time::timeout(LOST, next(&mut lines)).await else { break };
        let answer = answer?;
        let Some(number) = answer["id"].as_u64() else { continue };
        match open.remove(&(number as usize)) {
            Some(at) => tally.count(number as usize, &answer, at.elapsed()),
            None => tally.fail(format!("an answer that nobody asked for: {answer}")),
        }
    }
    tally.report(calls, began.elapsed());
    drop(input);
    let _ = tokio::time::timeout(LOST, child.wait()).await;
    Ok(())
}

async fn next(lines: &mut Lines<BufReader<ChildStdout>>) -> Result<Value, String> {
    let line = lines.next_line().await.map_err(|error| error.to_string())?.ok_or("the server has ended")?;
    serde_json::from_str(&line).map_err(|error| format!("{error}: {line}"))
}

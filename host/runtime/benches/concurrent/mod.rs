//! What do calls at the same time cost? Time of one call with so many callers, and memory of one more that runs.

use crate::bare::Bare;
use hermes_runtime::{Call, Runtime};
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Calls of one turn, by all callers together, and turns.
const CALLS: usize = 2048;
const TURNS: usize = 7;

/// The wall time of one call when so many callers call without a pause: ours and bare, medians of turns.
pub(crate) async fn callers(runtime: &Arc<Runtime>, bare: &Arc<Bare>, callers: usize) -> (Duration, Duration) {
    let (mut ours, mut reference) = (Vec::new(), Vec::new());
    for turn in 0..=TURNS {
        let started = Instant::now();
        together(callers, |_| {
            let runtime = runtime.clone();
            async move {
                let answer = runtime.call(Call::new("noop", json!({})).role("Builder")).await;
                assert!(answer.envelope.error.is_none(), "{:?}", answer.envelope.error);
            }
        })
        .await;
        let took = started.elapsed();
        let started = Instant::now();
        together(callers, |_| {
            let bare = bare.clone();
            async move { bare.call("noop", "{}").await }
        })
        .await;
        // The first turn only warms up.
        if turn > 0 {
            ours.push(took);
            reference.push(started.elapsed());
        }
    }
    (median(ours) / CALLS as u32, median(reference) / CALLS as u32)
}

async fn together<F: Future<Output = ()> + Send + 'static>(callers: usize, call: impl Fn(usize) -> F) {
    let mut running = tokio::task::JoinSet::new();
    for caller in 0..callers {
        let calls: Vec<F> = (0..CALLS / callers).map(|number| call(caller * CALLS + number)).collect();
        running.spawn(async move {
            for call in calls {
                call.await;
            }
        });
    }
    while let Some(ended) = running.join_next().await {
        ended.unwrap();
    }
}

/// Bytes of memory that one more running call takes: so many that spin until their time is over, less one that does.
pub(crate) async fn memory_of_one_more(runtime: &Arc<Runtime>, calls: usize) -> usize {
    // Once before, so that what the start used has gone back to the system and hides nothing.
    spinning(runtime, 1).await;
    let (alone, all) = (spinning(runtime, 1).await, spinning(runtime, calls).await);
    all.saturating_sub(alone) / (calls - 1)
}

/// What this process has in memory while so many calls run.
async fn spinning(runtime: &Arc<Runtime>, calls: usize) -> usize {
    let mut running = tokio::task::JoinSet::new();
    for _ in 0..calls {
        let runtime = runtime.clone();
        running.spawn(async move { runtime.call(Call::new("spin", json!({})).role("Builder")).await });
    }
    tokio::time::sleep(Duration::from_millis(700)).await;
    let memory = resident();
    while let Some(ended) = running.join_next().await {
        let kind = ended.unwrap().envelope.error.map(|error| error.kind);
        assert_eq!(kind, Some(hermes_runtime::Kind::Timeout), "it ran until its time was over");
    }
    memory
}

fn resident() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

//! What is called, how often, and what came of it?

use serde_json::{Value, json};
use std::io::Write;
use std::time::Duration;

/// What to do.
pub(crate) struct Options {
    pub(crate) plain: Vec<String>,
    pub(crate) command: Vec<String>,
    pub(crate) token: Option<String>,
    tool: String,
    argument: String,
    value: String,
}

impl Options {
    pub(crate) fn parse(words: &[String]) -> Result<Options, String> {
        let mut options = Options {
            plain: Vec::new(),
            command: Vec::new(),
            token: None,
            tool: "echo".into(),
            argument: "message".into(),
            value: "is {}.".into(),
        };
        let mut words = words.iter().cloned();
        while let Some(word) = words.next() {
            let mut next = || words.next().ok_or_else(|| format!("{word} needs a value"));
            match word.as_str() {
                "--token" => options.token = Some(next()?),
                "--tool" => options.tool = next()?,
                "--argument" => options.argument = next()?,
                "--value" => options.value = next()?,
                "--" => options.command.extend(words.by_ref()),
                _ => options.plain.push(word),
            }
        }
        Ok(options)
    }

    pub(crate) fn number(&self, at: usize) -> Result<usize, String> {
        self.plain.get(at).and_then(|word| word.parse().ok()).ok_or_else(|| format!("number {at} is missing"))
    }

    /// The call with this number.
    pub(crate) fn call(&self, number: usize) -> Value {
        let value = self.value.replace("{}", &number.to_string());
        let params = json!({ "name": self.tool, "arguments": { &*self.argument: value } });
        json!({ "jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params })
    }
}

/// The first message of a session.
pub(crate) fn hello() -> Value {
    let client = json!({ "name": "hermes-load", "version": "1" });
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    json!({ "jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": params })
}

/// The message after the answer to [`hello`].
pub(crate) fn ready() -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })
}

/// What came of calls.
#[derive(Default)]
pub(crate) struct Tally {
    right: usize,
    failed: usize,
    crossed: usize,
    first_failure: Option<String>,
    took: Vec<Duration>,
}

impl Tally {
    /// Counts the answer to a call.
    pub(crate) fn count(&mut self, number: usize, answer: &Value, took: Duration) {
        self.took.push(took);
        let text = answer["result"]["content"].to_string();
        if answer["id"] != number {
            self.crossed += 1;
        } else if text.contains(&format!("is {number}.")) && answer["result"]["isError"] != true {
            self.right += 1;
        } else if text.contains("is ") && answer["result"]["isError"] != true {
            self.crossed += 1;
        } else {
            self.fail(answer.to_string());
        }
    }

    pub(crate) fn fail(&mut self, why: String) {
        self.failed += 1;
        self.first_failure.get_or_insert(why);
    }

    pub(crate) fn add(&mut self, other: Tally) {
        self.right += other.right;
        self.failed += other.failed;
        self.crossed += other.crossed;
        self.took.extend(other.took);
        self.first_failure = self.first_failure.take().or(other.first_failure);
    }

    /// One JSON object: calls, right, failed, crossed, calls each second, milliseconds at the median and the 99th of 100.
    pub(crate) fn report(mut self, calls: usize, all: Duration) {
        self.took.sort();
        let at = |part: f64| self.took.get(((self.took.len() as f64 * part) as usize).min(self.took.len() - 1));
        let ms = |part| at(part).map_or(0.0, |took| took.as_secs_f64() * 1000.0);
        let (p50, p99) = if self.took.is_empty() { (0.0, 0.0) } else { (ms(0.5), ms(0.99)) };
        let rate = self.right as f64 / all.as_secs_f64();
        let report = json!({
            "calls": calls, "right": self.right, "failed": self.failed, "crossed": self.crossed,
            "lost": calls - self.right - self.failed - self.crossed,
            "calls_per_second": rate.round(), "p50_ms": p50, "p99_ms": p99, "first_failure": self.first_failure,
        });
        let _ = writeln!(std::io::stdout(), "{report}");
    }
}

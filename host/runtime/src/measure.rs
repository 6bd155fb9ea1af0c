//! What does a monitor see of the calls? Counts of this process since it began, in the text format of Prometheus
//! (version 0.0.4). Labels are words of closed sets and names of tools, which an operator chose; nothing a caller wrote.
//! Must not know who reads it.

use crate::error::Step;
use crate::record::Record;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Upper bounds of the buckets of durations, in microseconds: from a call that does nothing to one that waits for a person.
const BOUNDS_US: [u64; 16] = [
    50,
    100,
    250,
    500,
    1_000,
    2_500,
    5_000,
    10_000,
    25_000,
    50_000,
    100_000,
    250_000,
    1_000_000,
    5_000_000,
    30_000_000,
    300_000_000,
];
/// Most series of calls. Further tools are counted together, so that no reload of folders makes a monitor's store grow
/// without end.
const MOST_CALLS: usize = 10_000;

/// The counts of one runtime. Lifetime: the runtime.
#[derive(Debug, Default)]
pub(crate) struct Measures(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    calls: BTreeMap<(Arc<str>, u16), u64>,
    whole: Durations,
    steps: [Durations; STEPS.len()],
    denials: BTreeMap<u8, u64>,
    truncated: u64,
    masks: u64,
    unwritten: u64,
}

/// What is so now and not counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Now {
    /// Calls that run in the sandbox.
    pub(crate) running: u64,
    /// Calls that wait for a place there.
    pub(crate) waiting: u64,
    /// Places of the journal's queue that are taken, by calls and by records that wait for the disk.
    pub(crate) queued: u64,
    /// Places that the queue has.
    pub(crate) places: u64,
    /// Whether the last write to the journal failed.
    pub(crate) failing: bool,
}

const STEPS: [Step; 7] =
    [Step::Registry, Step::Adapter, Step::Permission, Step::Validation, Step::Sandbox, Step::Result, Step::Injection];

/// How long something took, how often. The last bucket has no bound.
#[derive(Clone, Copy, Debug, Default)]
struct Durations {
    buckets: [u64; BOUNDS_US.len() + 1],
    sum_us: u64,
}

impl Durations {
    fn add(&mut self, us: u64) {
        self.buckets[BOUNDS_US.partition_point(|bound| *bound < us)] += 1;
        self.sum_us = self.sum_us.saturating_add(us);
    }
}

impl Measures {
    /// Counts one outcome.
    pub(crate) fn note(&self, record: &Record) {
        let facts = &record.facts;
        let code = record.code.unwrap_or_default();
        let tool = if facts.version.is_some() { facts.tool.clone() } else { Arc::from("") };
        let mut counts = self.counts();
        counts.call(tool, code);
        counts.whole.add(record.duration_us);
        for entry in &record.steps {
            counts.steps[usize::from(entry.step.number()) - 1].add(entry.us);
        }
        if code == 403 {
            *counts.denials.entry(facts.layer.unwrap_or(0)).or_default() += 1;
        }
        if let Some(shown) = &facts.shown {
            counts.truncated += u64::from(shown.kept < shown.total);
            counts.masks += u64::from(shown.masks);
        }
    }

    /// Counts a call that was refused before it had a trail.
    pub(crate) fn refused(&self, code: u16) {
        self.counts().call(Arc::from(""), code);
    }

    /// Notes how long the last step took: until the record was handed over, or was on disk where the answer waits for that.
    pub(crate) fn injected(&self, took: Duration) {
        let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.counts().steps[usize::from(Step::Injection.number()) - 1].add(us);
    }

    /// Counts an outcome that was not on disk when its answer was given.
    pub(crate) fn unwritten(&self) {
        self.counts().unwritten += 1;
    }

    fn counts(&self) -> std::sync::MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All of it, as a monitor reads it.
    pub(crate) fn text(&self, now: Now) -> Option<String> {
        let mut page = Page::default();
        let counts = self.counts();
        page.head(
            "hermes_calls_total",
            "counter",
            "Calls that are over, by tool and code; no tool where none was meant.",
        );
        for ((tool, code), count) in &counts.calls {
            page.sample("hermes_calls_total", &[("tool", tool), ("code", &code.to_string())], count);
        }
        page.head("hermes_call_seconds", "histogram", "How long whole calls took.");
        page.durations("hermes_call_seconds", &[], &counts.whole);
        page.head("hermes_step_seconds", "histogram", "How long each of the steps took.");
        for (step, durations) in STEPS.iter().zip(&counts.steps) {
            page.durations("hermes_step_seconds", &[("step", step.name())], durations);
        }
        page.head("hermes_denials_total", "counter", "Calls that were refused with 403, by the layer that decided.");
        for (layer, count) in &counts.denials {
            page.sample("hermes_denials_total", &[("layer", &layer.to_string())], count);
        }
        for (name, help, count) in [
            ("hermes_truncated_total", "Results of which a part was shown.", counts.truncated),
            ("hermes_masks_total", "Secrets that were masked in answers.", counts.masks),
            ("hermes_unwritten_total", "Outcomes that were not on disk when they were answered.", counts.unwritten),
        ] {
            page.head(name, "counter", help);
            page.sample(name, &[], count);
        }
        for (name, help, value) in [
            ("hermes_calls_running", "Calls that run in the sandbox.", now.running),
            ("hermes_calls_waiting", "Calls that wait for a place in the sandbox.", now.waiting),
            ("hermes_journal_queue", "Places of the journal's queue that are taken.", now.queued),
            ("hermes_journal_queue_places", "Places of the journal's queue.", now.places),
            ("hermes_journal_failing", "1 while the journal cannot be written.", u64::from(now.failing)),
        ] {
            page.head(name, "gauge", help);
            page.sample(name, &[], value);
        }
        Some(page.0)
    }
}

impl Counts {
    fn call(&mut self, tool: Arc<str>, code: u16) {
        let key = (tool, code);
        let key = match self.calls.len() < MOST_CALLS || self.calls.contains_key(&key) {
            true => key,
            false => (Arc::from("others"), code),
        };
        *self.calls.entry(key).or_default() += 1;
    }
}

/// The text as it grows. Writing to a text cannot fail.
#[derive(Default)]
struct Page(String);

impl Page {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl std::fmt::Display) {
        self.0.push_str(name);
        for (index, (label, said)) in labels.iter().enumerate() {
            let _ = write!(self.0, "{}{label}=\"{}\"", if index == 0 { '{' } else { ',' }, escaped(said));
        }
        if !labels.is_empty() {
            self.0.push('}');
        }
        let _ = writeln!(self.0, " {value}");
    }

    fn durations(&mut self, name: &str, labels: &[(&str, &str)], durations: &Durations) {
        let mut total = 0;
        let bounds = BOUNDS_US.iter().map(|bound| seconds(*bound)).chain(["+Inf".to_owned()]);
        let (bucket, sum, count) = (format!("{name}_bucket"), format!("{name}_sum"), format!("{name}_count"));
        for (bound, count) in bounds.zip(&durations.buckets) {
            total += count;
            self.sample(&bucket, &[labels, &[("le", &bound)]].concat(), total);
        }
        self.sample(&sum, labels, seconds(durations.sum_us));
        self.sample(&count, labels, total);
    }
}

fn seconds(us: u64) -> String {
    format!("{}", us as f64 / 1_000_000.0)
}

fn escaped(label: &str) -> String {
    label.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Now = Now { running: 2, waiting: 3, queued: 4, places: 5, failing: true };

    #[test]
    fn buckets_hold_all_below_them() {
        let mut durations = Durations::default();
        [10, 50, 51, 1_000_000, u64::MAX / 2].into_iter().for_each(|us| durations.add(us));
        let mut page = Page::default();
        page.durations("d", &[("step", "x")], &durations);
        let lines: Vec<&str> = page.0.lines().collect();
        assert_eq!(lines[0], "d_bucket{step=\"x\",le=\"0.00005\"} 2");
        assert_eq!(lines[1], "d_bucket{step=\"x\",le=\"0.0001\"} 3");
        assert_eq!(lines[12], "d_bucket{step=\"x\",le=\"1\"} 4");
        assert_eq!(lines[16], "d_bucket{step=\"x\",le=\"+Inf\"} 5");
        assert_eq!(lines[18], "d_count{step=\"x\"} 5");
    }

    #[test]
    fn a_label_cannot_leave_its_quotes() {
        let measures = Measures::default();
        measures.counts().call("a\"} 1\nb\\".into(), 200);
        let text = measures.text(NOW).unwrap();
        assert!(text.contains("\nhermes_calls_total{tool=\"a\\\"} 1\\nb\\\\\",code=\"200\"} 1\n"), "{text}");
    }

    #[test]
    fn tools_without_end_are_counted_together() {
        let measures = Measures::default();
        for number in 0..MOST_CALLS + 7 {
            measures.counts().call(format!("t{number}").into(), 200);
        }
        let text = measures.text(NOW).unwrap();
        assert!(text.contains("hermes_calls_total{tool=\"others\",code=\"200\"} 7\n"));
        assert_eq!(text.matches("hermes_calls_total{").count(), MOST_CALLS + 1);
    }

    #[test]
    fn every_sample_belongs_to_a_name_with_help_and_type() {
        let measures = Measures::default();
        measures.refused(503);
        measures.unwritten();
        let text = measures.text(NOW).unwrap();
        let mut known = String::new();
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# HELP ") {
                known = rest.split(' ').next().unwrap().to_owned();
            } else if let Some(rest) = line.strip_prefix("# TYPE ") {
                assert!(rest.starts_with(&format!("{known} ")), "{line}");
            } else {
                let name = line.split(['{', ' ']).next().unwrap();
                let ends = ["", "_bucket", "_sum", "_count"];
                assert!(ends.iter().any(|end| *name == format!("{known}{end}")), "{line}");
                assert!(line.rsplit(' ').next().unwrap().parse::<f64>().is_ok(), "{line}");
            }
        }
        for line in
            ["hermes_calls_running 2", "hermes_calls_waiting 3", "hermes_journal_queue 4", "hermes_journal_failing 1"]
        {
            assert!(text.lines().any(|found| found == line), "{line}");
        }
        assert!(text.contains("hermes_calls_total{tool=\"\",code=\"503\"} 1\n"));
    }
}

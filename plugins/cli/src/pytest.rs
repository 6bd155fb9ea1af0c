//! `pytest`: runs a project's tests and turns their report into data.

use serde::{Deserialize, Serialize};

use crate::bindings::exports::hermes::tool::tool_execution::{Error, Output};
use crate::bindings::hermes::tool::process::Ending;
use crate::bindings::hermes::tool::types::ErrorKind;
use crate::program::{self, Finished, Program};
use crate::{failure, output};

/// The arguments of `pytest`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    #[serde(default)]
    paths: Vec<String>,
    keyword: Option<String>,
    markers: Option<String>,
    max_failures: Option<u32>,
    cwd: String,
    /// How long it may run; the host sees to it.
    #[serde(default, rename = "timeout_seconds")]
    _timeout_seconds: Option<u64>,
}

/// Runs the interpreter of the project's own environment, or the system's, and hands the report over on standard
/// output; what pytest itself says goes to standard error. The arguments come after it and are never read as text.
const SCRIPT: &str = r#"
python=python3
for own in .venv/bin/python venv/bin/python; do
    if [ -x "$own" ]; then python=$own; break; fi
done
"$python" -m pytest --junitxml=/tmp/report.xml -o junit_logging=all -o junit_family=xunit1 "$@" >&2 </dev/null
code=$?
if [ -f /tmp/report.xml ]; then cat /tmp/report.xml; fi
exit $code
"#;
/// Bytes of the report that are read; one of more tests than that says too little about each.
const REPORT: u32 = 4 << 20;
/// Failures that are told one by one.
const FAILURES: usize = 200;
/// Longest traceback of one failure, in bytes.
const TRACEBACK: usize = 16 << 10;

#[derive(Debug, Default, PartialEq, Serialize)]
struct Report {
    exit_code: Option<u8>,
    passed: usize,
    failed: usize,
    errors: usize,
    skipped: usize,
    seconds: f64,
    /// The tests that failed, each with its traceback.
    failures: Vec<Failure>,
    /// What pytest printed, when there is no report or it failed otherwise than by a test.
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
}

#[derive(Debug, PartialEq, Serialize)]
struct Failure {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    /// `failure` of what the test checks, or `error` around it.
    kind: &'static str,
    message: String,
    traceback: String,
}

/// Runs the tests.
pub(crate) fn run(arguments: &Arguments) -> Result<Output, Error> {
    let args = line(arguments)?;
    let script = ["-c", SCRIPT, "pytest"].map(str::to_owned);
    let finished = program::run(Program {
        name: "/bin/sh",
        args: script.into_iter().chain(args).collect(),
        directory: &arguments.cwd,
        environment: vec![("PYTHONDONTWRITEBYTECODE".to_owned(), "1".to_owned())],
        input: None,
        head: Some(REPORT),
        quiet: false,
    })
    .map_err(failure::not_started)?;
    answer(&finished)
}

/// Arguments that cannot become options: those that take a value have it in the same word.
fn line(arguments: &Arguments) -> Result<Vec<String>, Error> {
    if let Some(path) = arguments.paths.iter().find(|path| path.starts_with('-')) {
        let message = format!("`{path}` is an option, not a path; tests in such a file are named as `./{path}`");
        return Err(failure::error(ErrorKind::InvalidInput, Some("option_not_allowed"), message, None));
    }
    let mut args = vec!["-q".to_owned(), "-p".to_owned(), "no:cacheprovider".to_owned()];
    args.extend(arguments.keyword.iter().map(|keyword| format!("-k{keyword}")));
    args.extend(arguments.markers.iter().map(|markers| format!("-m{markers}")));
    args.extend(arguments.max_failures.iter().map(|most| format!("--maxfail={most}")));
    args.extend(arguments.paths.iter().cloned());
    Ok(args)
}

fn answer(finished: &Finished) -> Result<Output, Error> {
    let report = match finished.out.omitted {
        0 => parse(&finished.out.text),
        _ => None,
    };
    let code = match finished.ending {
        Ending::Code(code) => Some(code),
        Ending::Signal(_) | Ending::TimedOut | Ending::Limit(_) => None,
    };
    let has_report = report.is_some();
    let mut report = report.unwrap_or_default();
    report.exit_code = code;
    // 0 and 1 are the codes of tests that ran; the report says all about them.
    if !has_report || !matches!(code, Some(0 | 1)) {
        report.output = Some(finished.err.text.clone());
    }
    let output = Output {
        data: output::json(&report),
        content: Vec::new(),
        metadata: output::streams(&finished.out, &finished.err),
    };
    let (reason, message) = match code {
        Some(0) => return Ok(output),
        Some(1) if has_report => ("tests_failed", summary(&report)),
        Some(5) => ("no_tests", "no test was found".to_owned()),
        Some(_) | None => return Err(failure::ended("pytest", &finished.ending, output)),
    };
    let hint = "`data.failures` has each one with its traceback";
    let hint = (reason == "tests_failed").then_some(hint);
    let error = failure::error(ErrorKind::ToolFailed, Some(reason), message, hint);
    Err(Error { request_sent: true, partial: Some(output), ..error })
}

fn summary(report: &Report) -> String {
    let first = report.failures.first().map(|failure| format!(", first `{}`", failure.name)).unwrap_or_default();
    format!(
        "{} of {} tests failed{first}",
        report.failed + report.errors,
        report.failed + report.errors + report.passed
    )
}

/// Reads a report in JUnit's form. A document that is none is no report.
fn parse(text: &str) -> Option<Report> {
    let document = roxmltree::Document::parse(text).ok()?;
    let mut report = Report::default();
    let suites = document.descendants().filter(|node| node.has_tag_name("testsuite"));
    report.seconds = suites.filter_map(|suite| suite.attribute("time")?.parse::<f64>().ok()).sum();
    for case in document.descendants().filter(|node| node.has_tag_name("testcase")) {
        let part = |name: &str| case.children().find(|child| child.has_tag_name(name));
        match (part("failure"), part("error"), part("skipped")) {
            (Some(node), ..) => {
                report.failed += 1;
                report.failures.push(failed(case, node, "failure"));
            }
            (None, Some(node), _) => {
                report.errors += 1;
                report.failures.push(failed(case, node, "error"));
            }
            (None, None, Some(_)) => report.skipped += 1,
            (None, None, None) => report.passed += 1,
        }
    }
    report.failures.truncate(FAILURES);
    Some(report)
}

fn failed(case: roxmltree::Node<'_, '_>, node: roxmltree::Node<'_, '_>, kind: &'static str) -> Failure {
    let attribute = |name: &str| case.attribute(name).unwrap_or_default();
    let name = match (attribute("classname"), attribute("name")) {
        ("", name) => name.to_owned(),
        (class, name) => format!("{class}::{name}"),
    };
    Failure {
        name,
        file: case.attribute("file").map(str::to_owned),
        // The report counts from 0.
        line: case.attribute("line").and_then(|line| line.parse::<u32>().ok()).map(|line| line + 1),
        kind,
        message: cut(node.attribute("message").unwrap_or_default(), 1000),
        traceback: cut(node.text().unwrap_or_default(), TRACEBACK),
    }
}

/// The end of a long text is what matters in a traceback.
fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let mut from = text.len() - most;
    while !text.is_char_boundary(from) {
        from += 1;
    }
    format!("[… {from} bytes left out …]{}", &text[from..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_becomes_counts_and_failures() {
        let text = r#"<?xml version="1.0"?><testsuites><testsuite time="0.5">
            <testcase classname="test_a" name="test_one" file="test_a.py" line="3"><failure message="assert 1 == 2">trace &lt;here&gt;</failure></testcase>
            <testcase classname="test_a" name="test_two"/>
            <testcase classname="test_a" name="test_three"><skipped/></testcase>
            <testcase classname="" name="test_b"><error message="boom">E</error></testcase>
            </testsuite></testsuites>"#;
        let report = parse(text).unwrap();
        assert_eq!((report.passed, report.failed, report.errors, report.skipped), (1, 1, 1, 1));
        assert_eq!((report.failures[0].name.as_str(), report.failures[0].line), ("test_a::test_one", Some(4)));
        assert_eq!(report.failures[0].traceback, "trace <here>");
        assert!(parse("no report").is_none());
    }

    #[test]
    fn a_path_never_becomes_an_option() {
        let arguments = |path: &str| Arguments {
            paths: vec![path.to_owned()],
            keyword: Some("--co".to_owned()),
            markers: None,
            max_failures: None,
            cwd: String::new(),
            _timeout_seconds: None,
        };
        assert!(line(&arguments("--collect-only")).is_err());
        assert_eq!(line(&arguments("a.py")).unwrap().last().unwrap(), "a.py");
        assert!(line(&arguments("a.py")).unwrap().contains(&"-k--co".to_owned()));
    }
}

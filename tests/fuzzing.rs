//! Does the fuzzer find what it is there for? Plugins with one planted fault each, of different kinds; and one without.

use crate::support::house::component;
use crate::support::user::User;
use hermes_runtime::call::Digest;
use hermes_testkit::fuzz::{Finding, Oracle, Plan, Report, Target, fuzz, replay};
use hermes_testkit::plugin::Plugin;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

/// Most calls for one fault; a time would fail on a busy machine.
const CALLS: u64 = 5000;
/// Calls in which a fault behind four bytes is found, or is not.
const HIDDEN: u64 = 2500;

/// A plugin with one tool of the faulty guest.
struct Planted {
    tool: &'static str,
    oracle: Oracle,
    inputs: &'static str,
    outputs: &'static str,
    limits: &'static str,
}

const WIDE: &str = "fuel = 20000000000, memory_mb = 64";

/// All faults with what the manifests of their tools say.
fn planted() -> Vec<Planted> {
    let planted = |tool, oracle, inputs, outputs, limits| Planted { tool, oracle, inputs, outputs, limits };
    let text = |most: u32| match most {
        1000 => "text = { type = 'string', maxLength = 1000 }",
        _ => "text = { type = 'string', maxLength = 100000 }",
    };
    vec![
        planted(
            "trap",
            Oracle::Trap,
            "text = { type = 'string', maxLength = 1000 }, most = { type = 'integer', minimum = 0, maximum = 100 }",
            "start = { type = 'string' }",
            WIDE,
        ),
        planted(
            "hang",
            Oracle::Hang,
            "end = { type = 'integer', minimum = 0, maximum = 1000 }, step = { type = 'integer', minimum = 0, maximum = 1000 }",
            "steps = { type = 'integer' }",
            WIDE,
        ),
        planted(
            "fuel",
            Oracle::Fuel,
            text(100_000),
            "again = { type = 'integer' }",
            "fuel = 100000000, memory_mb = 64",
        ),
        planted(
            "memory",
            Oracle::Memory,
            "width = { type = 'integer', minimum = 1, maximum = 40000 }, height = { type = 'integer', minimum = 1, maximum = 40000 }",
            "fields = { type = 'integer' }",
            WIDE,
        ),
        planted("stack", Oracle::Stack, text(100_000), "depth = { type = 'integer' }", WIDE),
        planted(
            "output",
            Oracle::Output,
            "numbers = { type = 'array', maxItems = 100, items = { type = 'number' } }",
            "mean = { type = 'number' }",
            WIDE,
        ),
        planted(
            "outside_grant",
            Oracle::OutsideGrant,
            "name = { type = 'string', maxLength = 100 }",
            "set = { type = 'string' }",
            WIDE,
        ),
        planted(
            "nondeterminism",
            Oracle::Nondeterminism,
            "names = { type = 'array', minItems = 1, maxItems = 100, items = { type = 'string' } }",
            "place = { type = 'integer' }",
            WIDE,
        ),
        planted("leak", Oracle::Leak, text(1000), "lines = { type = 'array' }", WIDE),
    ]
}

/// Faults behind four bytes that no schema and no list of odd texts suggests.
fn hidden() -> Vec<Planted> {
    let planted = |tool, inputs, outputs| Planted { tool, oracle: Oracle::Trap, inputs, outputs, limits: WIDE };
    let text = "text = { type = 'string', maxLength = 100 }";
    vec![
        planted("letters", text, "length = { type = 'integer' }"),
        planted("word", text, "length = { type = 'integer' }"),
        planted(
            "number",
            "number = { type = 'integer', minimum = 0, maximum = 4294967295 }",
            "half = { type = 'integer' }",
        ),
    ]
}

impl Planted {
    /// Writes the plugin into a folder.
    fn put(&self, folder: &Path) {
        std::fs::create_dir_all(folder.join("tools")).unwrap();
        std::fs::copy(component("faulty"), folder.join("faulty.wasm")).unwrap();
        let adapter = format!(
            "name = \"{}\"\nversion = \"0.1.0\"\ncomponent = \"faulty.wasm\"\nworld = \"hermes:tool/file-tool@0.1.0\"\n\
             capabilities = [\"files\"]\n",
            self.tool.replace('_', "-")
        );
        std::fs::write(folder.join("adapter.toml"), adapter).unwrap();
        let Planted { tool, inputs, outputs, limits, .. } = self;
        // What never ends is waited for; anything else has time enough on a busy machine.
        let timeout = if self.oracle == Oracle::Hang { 1000 } else { 30_000 };
        let properties: toml::Table = toml::from_str(&format!("all = {{ {inputs} }}")).unwrap();
        let names: Vec<String> = properties["all"].as_table().unwrap().keys().map(|name| format!("'{name}'")).collect();
        let required = names.join(", ");
        let manifest = format!(
            "[tool]\nname = \"{tool}\"\nversion = \"0.1.0\"\ndescription = \"A tool with a fault\"\ntimeout_ms = {timeout}\n\
             limits = {{ {limits} }}\n\
             input_schema = {{ type = 'object', required = [{required}], additionalProperties = false, properties = {{ {inputs} }} }}\n\
             output_schema = {{ type = 'object', properties = {{ {outputs} }} }}\n\
             [tool.permissions]\nrequired_roles = [\"tester\"]\nrisk_level = \"low\"\n\
             [tool.effect]\nkind = \"write\"\nidempotent = true\nopen_world = false\n\
             [tool.backend]\ntype = \"custom\"\nadapter = \"{}\"\n",
            tool.replace('_', "-")
        );
        std::fs::write(folder.join("tools/tool.toml"), manifest).unwrap();
    }

    fn plugin(&self) -> Plugin {
        let folder = tempfile::tempdir().unwrap();
        self.put(folder.path());
        Plugin::read(folder.path()).unwrap()
    }
}

fn look(plugin: &Plugin, seed: u64, calls: u64) -> Report {
    let hour = Duration::from_secs(3600);
    fuzz(plugin, &Plan { calls, enough: 1, seed, time: hour, ..Plan::default() }).unwrap()
}

/// Components are compiled by the helper of the tests.
fn set_up() {
    hermes_testkit::use_helper(env!("CARGO_BIN_EXE_hermes-test-helper"));
}

#[test]
fn every_planted_fault_is_found_made_small_and_seen_again() {
    set_up();
    for fault in planted() {
        let plugin = fault.plugin();
        let report = look(&plugin, 1, CALLS);
        let [finding] = report.findings.as_slice() else {
            panic!("`{}` was not found in {} calls", fault.tool, report.calls)
        };
        assert_eq!(finding.oracle, fault.oracle, "{finding}");
        eprintln!("{}", row(&report, finding));
        // What may be left is what the fault is about.
        let length = finding.args.to_string().len();
        let most = if matches!(fault.oracle, Oracle::Fuel | Oracle::Stack) { 100_100 } else { 100 };
        assert!(length <= most, "{length} bytes: {finding}");
        // What is drawn by lot may come out alike a few times.
        let again = (0..20).find_map(|_| replay(&plugin, finding).unwrap());
        assert!(again.is_some(), "it did not happen again: {finding}");
        // Without the fault's input it is no finding.
        let harmless = Finding { args: harmless(&plugin), ..finding.clone() };
        assert!(fault.oracle == Oracle::Nondeterminism || replay(&plugin, &harmless).unwrap().is_none(), "{harmless}");
    }
}

/// A row of the guide's table.
fn row(report: &Report, finding: &Finding) -> String {
    let input = finding.args.to_string();
    let input: String = if input.len() > 80 { format!("{} bytes", input.len()) } else { format!("`{input}`") };
    let seconds = report.after[0].as_secs_f64();
    format!("| `{}` | {} | {} | {seconds:.1} s | {input} |", finding.tool, finding.oracle.name(), report.calls)
}

/// Arguments that meet none of the faults.
fn harmless(plugin: &Plugin) -> Value {
    let (_, schema) = plugin.tools().unwrap().remove(0);
    let value = |property: &Value| match property["type"].as_str() {
        Some("string") => json!("abc"),
        Some("array") if property["items"]["type"] == "number" => json!([1.5]),
        Some("array") => json!(["a"]),
        _ => json!(3),
    };
    let properties = schema["properties"].as_object().unwrap();
    properties.iter().map(|(name, property)| (name.clone(), value(property))).collect::<serde_json::Map<_, _>>().into()
}

#[test]
fn a_fault_behind_four_bytes_is_found_by_a_look_at_what_was_reached_and_not_without() {
    set_up();
    let hour = Duration::from_secs(3600);
    for fault in hidden() {
        let plugin = fault.plugin();
        let guided = look(&plugin, 1, HIDDEN);
        let [finding] = guided.findings.as_slice() else {
            panic!("`{}` was not found in {} calls: {:?}", fault.tool, guided.calls, guided.coverage)
        };
        eprintln!("{}", row(&guided, finding));
        assert_eq!((finding.oracle, &guided.unguided), (Oracle::Trap, &None), "{finding}");
        let coverage = guided.coverage.unwrap();
        assert!(coverage.kept > 3 && coverage.reached() > 100, "{coverage:?}");
        assert!(coverage.reached() <= coverage.counted as usize, "{coverage:?}");
        assert!(coverage.curve.is_sorted_by_key(|point| (point.calls, point.edges)), "{coverage:?}");
        assert!(replay(&plugin, finding).unwrap().is_some(), "{finding}");
        let blind = Plan { calls: HIDDEN, enough: 1, seed: 1, time: hour, blind: true, ..Plan::default() };
        let blind = fuzz(&plugin, &blind).unwrap();
        assert!(blind.findings.is_empty() && blind.calls >= HIDDEN && blind.coverage.is_none(), "{blind:?}");
    }
}

#[test]
fn bytes_of_another_engine_are_inputs_and_what_they_reach_is_told() {
    set_up();
    let folder = tempfile::tempdir().unwrap();
    planted().remove(0).put(folder.path());
    let mut target = Target::of(folder.path()).unwrap();
    let edges = [const { AtomicU8::new(0) }; 4096];
    let reached = |edges: &[AtomicU8]| edges.iter().filter(|edge| edge.load(Ordering::Relaxed) > 0).count();
    let mut found = None;
    for number in 0..CALLS {
        let bytes = Digest::of(&number.to_le_bytes());
        found = target.run(bytes.bytes(), &edges).unwrap();
        if found.is_some() {
            break;
        }
    }
    let finding = found.expect("the fault is found");
    assert_eq!((finding.oracle, finding.tool.as_str()), (Oracle::Trap, "trap"));
    assert!(reached(&edges) > 100);
}

/// An engine's bytes choose among the words of the component, so that a whole word is one step and not four.
#[test]
fn bytes_of_another_engine_lead_behind_four_letters() {
    set_up();
    let folder = tempfile::tempdir().unwrap();
    hidden().remove(1).put(folder.path());
    let mut target = Target::of(folder.path()).unwrap();
    let edges = [const { AtomicU8::new(0) }; 4096];
    let run = |number: u64| target.run(Digest::of(&number.to_le_bytes()).bytes(), &edges).unwrap();
    let (number, finding) = (0..20_000).map(run).enumerate().find_map(|(n, found)| Some((n, found?))).unwrap();
    eprintln!("the bytes of number {number}: {finding}");
    assert_eq!(finding.oracle, Oracle::Trap);
}

#[test]
fn a_seed_makes_a_run_what_it_was() {
    set_up();
    let fault = planted().remove(0);
    let (first, again) = (look(&fault.plugin(), 5, CALLS), look(&fault.plugin(), 5, CALLS));
    assert_eq!((first.calls, &first.findings[0].args), (again.calls, &again.findings[0].args));
    let reached = |report: &Report| {
        let curve = &report.coverage.as_ref().unwrap().curve;
        curve.iter().map(|point| (point.calls, point.edges)).collect::<Vec<_>>()
    };
    assert_eq!(reached(&first), reached(&again));
}

#[test]
fn a_tool_without_a_fault_gives_no_finding_and_its_neighbours_do() {
    set_up();
    let plugin = Plugin::component(&std::fs::read(component("faulty")).unwrap()).unwrap();
    assert_eq!(plugin.tools().unwrap().len(), 13);
    let hour = Duration::from_secs(3600);
    let report = fuzz(&plugin, &Plan { calls: 1500, time: hour, ..Plan::default() }).unwrap();
    let of_sound: Vec<&Finding> = report.findings.iter().filter(|finding| finding.tool == "sound").collect();
    assert!(of_sound.is_empty(), "{}", of_sound[0]);
    assert!(report.findings.len() >= 4, "{:?}", report.findings);
    assert!(report.accepted * 2 > report.inputs, "{} of {}", report.accepted, report.inputs);
}

#[test]
fn the_command_draws_what_was_reached_and_is_blind_if_that_is_wanted() {
    let user = User::new();
    hidden().remove(1).put(&user.path("workspace/word"));
    let fuzz = ["plugin", "fuzz", "word", "--time", "60m", "--calls", "5000", "--enough", "1", "--output", "text"];
    let ended = user.run(&[&fuzz[..], &["--plot", "word.svg"]].concat()).exits(5);
    for word in ["\"text\":\"vxjq\"", "  calls   seconds   edges", "edges reached", "inputs kept"] {
        assert!(ended.out.contains(word), "nothing of `{word}` in\n{}", ended.out);
    }
    let picture = std::fs::read_to_string(user.path("workspace/word.svg")).unwrap();
    assert!(picture.starts_with("<svg") && picture.contains("class=\"curve\" d=\"M"), "{picture}");
    let kept = std::fs::read_to_string(user.path("workspace/word/fuzz/inputs.jsonl")).unwrap();
    assert!(kept.lines().count() > 3, "{kept}");
    let blind = [&fuzz[..], &["--blind", "--corpus", "other"]].concat();
    let ended = user.run(&blind).exits(0);
    assert!(!ended.out.contains("edges"), "{}", ended.out);
    user.run(&[&blind[..], &["--plot", "word.svg"]].concat()).exits(2);
}

#[test]
fn arguments_of_past_calls_are_tried_first() {
    let user = User::new();
    hidden().remove(1).put(&user.path("plugins/word"));
    let plugins = user.path("plugins");
    user.configure(&format!("plugin_folders = [{plugins:?}]\n[roles.tester]\ndefault = true\n"));
    user.run(&["call", "word", "text=vxjq"]).exits(9);
    let folder = user.path("plugins/word").display().to_string();
    let fuzz = ["plugin", "fuzz", &folder, "--time", "60m", "--calls", "20", "--blind", "--corpus", "kept"];
    user.run(&fuzz).exits(0);
    user.run(&[&fuzz[..], &["--recorded"]].concat()).exits(5);
}

#[test]
fn the_command_shows_a_finding_keeps_it_and_sees_it_again() {
    let user = User::new();
    let fault = planted().remove(0);
    fault.put(&user.path("workspace/trap"));
    // A component alone is enough, too.
    std::fs::copy(component("faulty"), user.path("workspace/faulty.wasm")).unwrap();
    let ended =
        user.run(&["plugin", "fuzz", "faulty.wasm", "--time", "10m", "--enough", "1", "--output", "text"]).exits(5);
    assert!(ended.out.contains("found after"), "{}", ended.out);

    let fuzz = ["plugin", "fuzz", "trap", "--output", "text"];
    let ended = user.run(&[&fuzz[..], &["--time", "10m", "--enough", "1"]].concat()).exits(5);
    for word in ["trap: tool `trap`", "input: {", "kept in", "--replay", "#[test]", "fn trap_has_no_trap()", "replay("]
    {
        assert!(ended.out.contains(word), "nothing of `{word}` in\n{}", ended.out);
    }
    let kept: Vec<_> = std::fs::read_dir(user.path("workspace/trap/fuzz")).unwrap().flatten().collect();
    let kept: Vec<_> = kept.iter().filter(|entry| entry.path().extension().is_some_and(|end| end == "json")).collect();
    assert_eq!(kept.len(), 1);
    user.run(&[&fuzz[..], &["--replay"]].concat()).exits(5);
    // Once nothing is kept, nothing is tried.
    std::fs::remove_file(kept[0].path()).unwrap();
    let ended = user.run(&[&fuzz[..], &["--replay"]].concat()).exits(0);
    assert!(ended.out.contains("findings: 0"), "{}", ended.out);
}

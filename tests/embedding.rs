//! How much does a program need to embed the runtime? Twenty lines of the public interface.

use crate::support::block_on;
use crate::support::guest::Guest;
use crate::support::house::{House, call};
use crate::support::user::binary;
use hermes_runtime::authority::Authority;
use hermes_runtime::call::Arguments;
use hermes_runtime::config::Config;
use hermes_runtime::profile::{Done, Job, Profile, Question, Running};
use hermes_runtime::sandbox::Output;
use hermes_runtime::{Call, Runtime};
use serde_json::json;

mod program {
    use hermes_runtime::config::{Access, Config};
    use hermes_runtime::{Call, Runtime};
    use serde_json::json;
    use std::path::Path;

    pub(super) async fn main(folder: &Path, plugins: &Path) -> Result<String, Box<dyn std::error::Error>> {
        let config = Config::new(folder.join("state"), folder.join("cache"))
            .grant("workspace", folder.join("workspace"), Access::ReadWrite)
            .plugin(plugins)
            .helper(env!("CARGO_BIN_EXE_hermes-test-helper"));
        let runtime = Runtime::start(config, &[], None)?;
        let call = Call::new("file_read", json!({ "path": "hello.txt" })).role("Builder");
        let envelope = runtime.call(call).await.envelope;
        match envelope.error {
            None => Ok(envelope.data["text"].to_string()),
            Some(error) => Err(error.into()),
        }
    }
}

#[test]
fn twenty_lines_embed_the_runtime() {
    let source = include_str!("embedding.rs");
    let program = source.split_once("mod program {").unwrap().1.split_once("\n}\n").unwrap().0;
    let lines = program.lines().filter(|line| !line.trim().is_empty()).count();
    assert!(lines <= 20, "{lines} lines");

    let house = House::with_files();
    house.write("hello.txt", "hello");
    let text = block_on(program::main(house.root(), &house.path("plugins")));
    assert_eq!(text.unwrap(), "\"hello\"");
}

/// What an example of the library prints.
fn printed(example: &str) -> String {
    let program = binary().parent().unwrap().join("examples").join(example);
    let output = std::process::Command::new(&program).output();
    let output = output.unwrap_or_else(|error| panic!("`{}`: {error}; build the examples", program.display()));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}\n{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn a_program_gives_components_an_authority_of_its_own() {
    assert_eq!(printed("custom_capability"), "10 tea: true\n20 tea: false\n1 coffee: false\n");
}

#[test]
fn a_program_decides_what_a_person_would_be_asked() {
    let printed = printed("custom_approver");
    for line in ["asked about add {\"a\":1,\"b\":2}", "1 + 2 = 3", "1000000 + 2: "] {
        assert!(printed.contains(line), "nothing of `{line}` in\n{printed}");
    }
    assert!(printed.contains("too large"), "{printed}");
}

#[test]
fn a_program_shows_how_far_a_call_has_come() {
    let steps: String = (1..=3).map(|step| format!("{step} of 3: a step is done\n")).collect();
    assert_eq!(printed("streaming"), steps + "3\n");
}

#[test]
fn two_runtimes_of_one_process_know_nothing_of_each_other() {
    let printed = printed("two_runtimes");
    assert!(printed.starts_with("for clerks: 2\nfor visitors: ") && printed.contains("clerk"), "{printed}");
}

/// The component runs in a process that the program started its own way, and its capability is answered in the program's.
#[test]
fn a_program_runs_components_in_a_place_of_its_own() {
    let printed = printed("custom_profile");
    let lines: Vec<&str> = printed.lines().collect();
    let [asked, answer, left] = lines.as_slice() else { panic!("{printed}") };
    let numbers: Vec<i32> = asked.split(' ').filter_map(|word| word.trim_end_matches(',').parse().ok()).collect();
    let [child, own] = numbers.as_slice() else { panic!("{printed}") };
    assert!(asked.starts_with("asked about \"tea\"") && (*child == own + 7 || *child == 19), "{printed}");
    assert_eq!((*answer, *left), ("10 tea: true", "processes left: 0"));
}

/// What a profile of the program's own answers itself.
struct Own;

impl Profile for Own {
    fn run<'a>(&'a self, job: Job<'a>) -> Running<'a> {
        let done = match job.question() {
            Question::Call { tool, args } => {
                assert!(job.component().starts_with(b"\0asm") && job.limits().fuel > 0);
                let data = json!({ "tool": tool, "args": serde_json::from_str::<serde_json::Value>(args).unwrap() });
                Done::returned(Output { data: Some(data.to_string()), content: Vec::new(), metadata: None })
                    .log(vec!["it ran".into()])
            }
            Question::Health => Done::healthy(),
            Question::Description => Done::broke("it says nothing".into()),
        };
        Box::pin(std::future::ready(done))
    }
}

#[test]
fn a_profile_is_got_by_who_asks_for_it_and_says_what_is_wrong_with_it() {
    let house = House::empty();
    Guest { sandbox: "profile = \"own\"".into(), ..Guest::default() }.put(&house);
    let files = Guest { name: "files".into(), files: true, sandbox: "profile = \"own\"".into(), ..Guest::default() };
    files.put(&house);
    let runtime = Runtime::start(house.config().profile("own", Own), &[], None).unwrap();
    let faults: Vec<String> = runtime.toolbox().faults.iter().map(ToString::to_string).collect();
    assert!(faults.len() == 1 && faults[0].contains("`files`") && faults[0].contains("offers none"), "{faults:?}");
    let answer = block_on(runtime.call(call("probe", json!({ "a": 1 })))).envelope;
    assert_eq!(answer.data, json!({ "tool": "probe", "args": { "a": 1 } }), "{answer:#?}");
    for (name, said) in
        [("process", "there is one of this name already"), ("Own", "small letters"), ("", "small letters")]
    {
        let error = Runtime::start(House::empty().config().profile(name, Own), &[], None).err().unwrap().to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn an_authority_is_got_by_who_asks_for_it_and_says_what_is_wrong_with_it() {
    let wit = "package a:b@1.0.0; interface c { count: func(item: string) -> u32; }";
    let house = House::empty();
    let start = |authority: Authority| {
        let config = house.config().authority(authority);
        Runtime::start(config, &[], None).err().map(|error| error.to_string())
    };
    assert_eq!(start(Authority::new("own", wit)), None);
    let answers = |name: &str, wit: &str, function: &str| {
        start(Authority::new(name, wit).function(function, |_| Box::pin(async { Ok(json!(1)) })))
    };
    assert!(answers("own", wit, "cnt").unwrap().contains("has no function `cnt`"));
    assert!(answers("files", wit, "count").unwrap().contains("there is one of this name already"));
    assert!(answers("own", "no WIT", "count").is_some());
    let resource = "package a:b@1.0.0; interface c { resource r; count: func(item: borrow<r>) -> u32; }";
    assert!(answers("own", resource, "count").unwrap().contains("has a resource"));
}

/// An embedder's mistakes are errors, never panics.
#[test]
fn no_public_call_panics_on_bad_input() {
    let house = House::empty();
    // Its folder of plugins is empty, which is a fault and no reason not to start.
    let runtime = Runtime::start(house.config(), &[], None).unwrap();
    block_on(async {
        for tool in ["", " ", "\0", "a/../b", &"x".repeat(100_000)] {
            for args in ["", "{", "null", "[1]", "{\"a\":1,\"a\":2}", &"[".repeat(100_000), "{\"\\ud800\":1e999}"] {
                let call = Call { args: Arguments::Json(args.to_owned()), ..Call::new(tool, json!({})) };
                assert!(runtime.call(call).await.envelope.error.is_some());
            }
        }
        assert!(runtime.describe("none").await.is_none());
    });
    let nothing = std::collections::BTreeSet::new();
    for bytes in [&b""[..], b"\0asm", b"\0asm\x0d\0\x01\0", b"(component", b"\xff\xfe", b"(module)"] {
        let _ = hermes_runtime::sandbox::install::inspect(bytes, &nothing);
        let _ = hermes_runtime::sandbox::values::functions_of(bytes);
    }
    let config = Config::new("/dev/null/state", "/dev/null/cache").plugin("/dev/null");
    assert!(Runtime::start(config, &[], None).is_err());
}

/// A call's future is moved and copied by who spawns it, and lies on the stack of who waits for it.
#[test]
fn what_a_call_holds_stays_small() {
    let house = House::with_files();
    let runtime = house.start(house.config());
    let size = std::mem::size_of_val(&runtime.call(call("any", json!({}))));
    assert!(size < 12 << 10, "{size} bytes");
}

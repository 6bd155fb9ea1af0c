//! How does a component become code, and what keeps a hostile one, a damaged file or a stranger's from being run? Each
//! house here has a cache of its own.

use crate::support::guest::Guest;
use crate::support::house::{House, call};
use crate::support::{block_on, child, user};
use hermes_runtime::config::Config;
use hermes_runtime::error::Kind;
use hermes_runtime::sandbox::component::binary;
use hermes_runtime::sandbox::install::inspect;
use hermes_runtime::{Call, Runtime};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A house with one guest and its settings.
fn house(guest: &Guest) -> (House, Config) {
    let house = House::empty();
    guest.put(&house);
    let mut config = house.config();
    config.cache_dir = house.path("cache");
    (house, config)
}

/// Starts and calls once: the answer, and what was wrong with the plugin.
fn answer(config: &Config) -> (Option<Kind>, Value, String) {
    let runtime = Runtime::start(config.clone(), &[], None).unwrap();
    let faults = runtime.toolbox().faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    let answer = block_on(runtime.call(call("probe", json!({})))).envelope;
    (answer.error.map(|error| error.kind), answer.data, faults)
}

/// The same settings with nobody who could compile: what works with them comes from the cache.
fn without_helper(config: &Config) -> Config {
    let mut config = config.clone();
    config.process.helper = Some("/nowhere/helper".into());
    config
}

fn works(config: &Config) {
    assert_eq!(answer(config), (None, json!({}), String::new()));
}

#[track_caller]
fn is_not_loaded(config: &Config, why: &str) {
    let (kind, _, faults) = answer(config);
    assert_eq!(kind, Some(Kind::NoAdapter), "{faults}");
    assert!(faults.contains(why), "{faults}");
}

fn kept(config: &Config) -> PathBuf {
    let folder = config.cache_dir.join("components");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 1, "one file for one component, and no half-written one: {files:?}");
    files.remove(0)
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_component_is_compiled_once_and_loaded_from_then_on() {
    let (_house, config) = house(&Guest::default());
    is_not_loaded(&without_helper(&config), "the process that compiles it failed");
    works(&config);
    works(&without_helper(&config));
    let mode = std::fs::metadata(kept(&config)).unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0, "{mode:o}");
}

#[test]
fn what_is_damaged_or_of_another_engine_is_compiled_again() {
    let (_house, config) = house(&Guest::default());
    works(&config);
    let file = kept(&config);
    let good = std::fs::read(&file).unwrap();
    for at in [0, 31, 32, 40, good.len() / 2, good.len() - 1] {
        let mut bytes = good.clone();
        bytes[at] ^= 1;
        std::fs::write(&file, bytes).unwrap();
        is_not_loaded(&without_helper(&config), "the process that compiles it failed");
        works(&config);
        assert_eq!(std::fs::read(&file).unwrap().len(), good.len(), "damaged at {at}");
    }
    std::fs::write(&file, &good[..good.len() / 2]).unwrap();
    works(&config);
    // Another engine looks for another file.
    let mut other = config.clone();
    let name = file.file_name().unwrap().to_str().unwrap().to_owned();
    other.cache_dir = config.cache_dir.join("other");
    let folder = other.cache_dir.join("components");
    std::fs::create_dir_all(&folder).unwrap();
    set_mode(&folder, 0o700);
    let (digest, _) = name.split_once('-').unwrap();
    std::fs::write(folder.join(format!("{digest}-0123456789abcdef.cwasm")), "not code").unwrap();
    works(&other);
}

#[test]
fn code_that_others_could_have_written_is_never_loaded() {
    let (_house, config) = house(&Guest::default());
    works(&config);
    let (file, folder) = (kept(&config), config.cache_dir.join("components"));
    for (path, loose, strict) in
        [(&file, 0o622, 0o600), (&file, 0o606, 0o600), (&folder, 0o770, 0o700), (&folder, 0o703, 0o700)]
    {
        set_mode(path, loose);
        is_not_loaded(&without_helper(&config), "the process that compiles it failed");
        set_mode(path, strict);
        works(&without_helper(&config));
    }
}

#[test]
fn a_cache_that_cannot_be_written_is_no_reason_not_to_work() {
    let (house, mut config) = house(&Guest::default());
    config.cache_dir = house.path("plugins/probe/component.wat");
    works(&config);
}

/// A module with one function of so many products, each of which needs the one before.
fn large_function(products: usize) -> Vec<u8> {
    use wasm_encoder::{CodeSection, Function, FunctionSection, Module, TypeSection, ValType};
    let mut types = TypeSection::new();
    types.ty().function([ValType::I64], [ValType::I64]);
    let mut functions = FunctionSection::new();
    functions.function(0);
    let mut function = Function::new([(1, ValType::I64)]);
    let mut body = function.instructions();
    for _ in 0..products {
        body.local_get(0).local_get(1).i64_mul().local_tee(1).local_get(0).i64_rotl().local_set(0);
    }
    body.local_get(0).end();
    let mut code = CodeSection::new();
    code.function(&function);
    let mut module = Module::new();
    module.section(&types).section(&functions).section(&code);
    module.finish()
}

/// A component with one more module at its end, which it does not use.
fn with_module(mut component: Vec<u8>, module: &[u8]) -> Vec<u8> {
    component.push(1);
    let mut length = module.len();
    while length >= 0x80 {
        component.push((length & 0x7f) as u8 | 0x80);
        length >>= 7;
    }
    component.push(length as u8);
    component.extend_from_slice(module);
    component
}

#[test]
fn a_component_that_takes_too_much_to_compile_is_refused_and_the_host_is_unharmed() {
    let (house, mut config) = house(&Guest::default());
    let small = binary(Guest::default().text().as_bytes()).unwrap().into_owned();
    // One function may not be larger, so there are several.
    let function = large_function(550_000);
    let large = (0..3).fold(small, |component, _| with_module(component, &function));
    std::fs::write(house.path("plugins/probe/component.wat"), large).unwrap();
    (config.install.seconds, config.install.memory_mb) = (120, 48);
    is_not_loaded(&config, "compiling it takes more than 48 MiB of memory");
    (config.install.seconds, config.install.memory_mb) = (1, 8192);
    is_not_loaded(&config, "compiling it takes more than 1 s of the processor's time");
    assert!(std::fs::read_dir(config.cache_dir.join("components")).unwrap().next().is_none(), "nothing is left");
    assert_eq!(child::children(), 0, "no process is left");
}

#[test]
fn without_a_program_that_compiles_it_is_said_what_to_do() {
    let (_house, mut config) = house(&Guest::default());
    config.process.helper = None;
    is_not_loaded(&config, "does not call `helper_main` and names no helper");
    for (helper, why) in
        [("/bin/true", "ended without a word"), ("/bin/cat", "ended without a word"), ("/nowhere", "No such file")]
    {
        config.process.helper = Some(helper.into());
        is_not_loaded(&config, why);
    }
}

#[test]
fn compiling_is_told_to_whoever_watches_and_happens_once() {
    let (_house, config) = house(&Guest::default());
    let watched = |config: &Config| {
        let mut seen = Vec::new();
        Runtime::start_watched(config.clone(), &[], None, &mut |now| {
            seen.push((now.adapter.to_owned(), now.number, now.of))
        })
        .unwrap();
        seen
    };
    assert_eq!(watched(&config), [("probe".to_owned(), 1, 1)]);
    assert_eq!(watched(&config), []);
}

#[test]
fn an_inspection_tells_asked_from_empty_from_granted() {
    let bytes = std::fs::read(crate::support::house::component("file")).unwrap();
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<String>>();
    let found = inspect(&bytes, &names(&["files", "process"])).unwrap();
    assert_eq!((&found.asked, &found.granted, &found.refused), (&names(&["files"]), &names(&["files"]), &None));
    assert!(found.empty.iter().any(|name| name.starts_with("wasi:cli/")), "{:?}", found.empty);
    assert!(found.contents.exports.contains("hermes:tool/tool-execution@0.1.0"), "{found:?}");
    let refused = inspect(&bytes, &BTreeSet::new()).unwrap();
    assert!(refused.granted.is_empty() && refused.refused.unwrap().contains("does not ask for `files`"));
}

#[test]
fn the_command_shows_what_a_component_asks_for() {
    let user = user::User::new();
    let shown = user.run(&["plugin", "inspect", "file", "--output", "text"]).exits(0);
    for line in ["asked      files   (adapter.toml asks for: files)", "granted    files", "empty      wasi:"] {
        assert!(shown.out.contains(line), "nothing of `{line}` in\n{}", shown.out);
    }
    let alone = crate::support::house::component("file");
    let shown = user.run(&["plugin", "inspect", alone.to_str().unwrap()]).exits(4);
    assert_eq!((&shown.json()["asked"], &shown.json()["granted"]), (&json!(["files"]), &json!([])));
    user.write("workspace/no.wasm", "no component");
    user.run(&["plugin", "inspect", "no.wasm", "--output", "text"])
        .exits(2)
        .says(&["some other file, not a component"]);
    user.run(&["plugin", "inspect", "missing.wasm", "--output", "text"]).exits(5).says(&["cannot be read"]);
}

/// Nothing of one call's deadline, fuel or memory is left for the next one on the same component.
#[test]
fn deadline_fuel_and_memory_begin_anew_with_each_call() {
    let by_task = "(if (i32.eq (local.get $args_len) (i32.const 7)) (then (loop $on (br $on))))
        (if (i32.eq (local.get $args_len) (i32.const 9)) (then unreachable))
        (if (i32.ne (i32.load (i32.const 2048)) (i32.const 0)) (then (return (call $text (i32.const 2048) (i32.const 4)))))
        (i32.store (i32.const 2048) (i32.const 7)) (call $ok (i32.const 1024) (i32.const 2))";
    let guest = Guest {
        manifest: "timeout_ms = 60".into(),
        limits: "fuel = 100000000000".into(),
        fields: "(data (i32.const 1024) \"{}\")".into(),
        ..Guest::that(by_task)
    };
    let (_house, config) = house(&guest);
    let runtime = Runtime::start(config, &[], None).unwrap();
    block_on(async {
        let ask = async |args: Value| {
            let answer = runtime.call(Call::new("probe", args).role("Builder")).await.envelope;
            (answer.error.map(|error| error.kind), answer.metadata.usage.unwrap().fuel)
        };
        let (fine, endless, broken) = (json!({}), json!({ "a": 1 }), json!({ "b": 123 }));
        let (first, fuel) = ask(fine.clone()).await;
        assert_eq!(first, None);
        for _ in 0..2 {
            assert_eq!(ask(endless.clone()).await.0, Some(Kind::Timeout));
            assert_eq!(ask(fine.clone()).await, (None, fuel));
        }
        assert_eq!(ask(broken).await.0, Some(Kind::Trap));
        assert_eq!(ask(fine).await, (None, fuel));
    });
}

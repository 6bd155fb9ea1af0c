//! How much of JSON Schema 2020-12 holds through the whole call path? Takes a copy of the public JSON-Schema-Test-Suite
//! (`github.com/json-schema-org/JSON-Schema-Test-Suite`), which is not part of this project:
//!
//! ```text
//! cargo run --release --example json_schema_suite -- path/to/JSON-Schema-Test-Suite
//! ```
//!
//! Each schema of `tests/draft2020-12` becomes a tool with one argument, whose subschema has an address of its own; the
//! suite's remote documents are local ones of the manifest. A case is right if the call runs just when it should, or
//! is a 400, and nothing was repaired.
#![expect(clippy::disallowed_methods, clippy::print_stdout, reason = "a program of its own")]

use hermes_runtime::call::Arguments;
use hermes_runtime::{Call, Config, Runtime};
use serde_json::{Map, Value, json};
use std::error::Error;
use std::path::{Path, PathBuf};

/// One case of the suite.
struct Case {
    tool: String,
    name: String,
    args: String,
    is_valid: bool,
}

fn main() -> Result<(), Box<dyn Error>> {
    // Components are compiled in another process: this program, started again.
    hermes_runtime::helper_main();
    let suite = PathBuf::from(std::env::args_os().nth(1).ok_or("the suite's folder is the argument")?);
    let house = tempfile::tempdir()?;
    let cases = prepare(&suite, &house.path().join("plugins/suite"))?;
    let config =
        Config::new(house.path().join("state"), house.path().join("cache")).plugin(house.path().join("plugins"));
    let runtime = Runtime::start(config, &[], None)?;
    for fault in &runtime.toolbox().faults {
        println!("not loaded: {}", fault.message);
    }
    let threads = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let wrong = threads.block_on(run(&runtime, &cases));
    println!("{} of {} cases are right", cases.len() - wrong, cases.len());
    match wrong {
        0 => Ok(()),
        _ => Err("some are not".into()),
    }
}

async fn run(runtime: &Runtime, cases: &[Case]) -> usize {
    let mut wrong = 0;
    for case in cases {
        let call = Call { args: Arguments::Json(case.args.clone()), ..Call::new(case.tool.as_str(), Value::Null) };
        let answer = runtime.call(call.role("suite")).await.envelope;
        let code = answer.error.as_ref().map_or(200, |error| error.code);
        let is_right = code == if case.is_valid { 200 } else { 400 };
        if !is_right || !answer.metadata.repairs.is_empty() {
            wrong += 1;
            println!("{}: {code} {:?}", case.name, answer.error.map(|error| error.problems.clone()));
        }
    }
    wrong
}

/// Writes the plugin whose tools are the suite's schemas.
fn prepare(suite: &Path, plugin: &Path) -> Result<Vec<Case>, Box<dyn Error>> {
    std::fs::create_dir_all(plugin.join("tools"))?;
    std::fs::write(plugin.join("echo.wat"), include_str!("../benches/noop.wat"))?;
    std::fs::write(
        plugin.join("adapter.toml"),
        "name = 'suite'\nversion = '1.0.0'\ncomponent = 'echo.wat'\nworld = 'hermes:tool/tool@0.1.0'\n",
    )?;
    let mut remotes = Map::new();
    collect(&suite.join("remotes"), "http://localhost:1234", &mut remotes)?;
    let mut cases = Vec::new();
    let mut files: Vec<PathBuf> = std::fs::read_dir(suite.join("tests/draft2020-12"))?
        .map(|entry| Ok(entry?.path()))
        .collect::<std::io::Result<_>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    for file in files {
        let groups: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(&file)?)?;
        let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        for (number, group) in groups.iter().enumerate() {
            let tool = format!("{stem}-{number}");
            let manifest = manifest(&tool, &group["schema"], &remotes)?;
            std::fs::write(plugin.join(format!("tools/{tool}.toml")), manifest)?;
            for test in group["tests"].as_array().ok_or("a group has tests")? {
                cases.push(Case {
                    name: format!("{tool}: {} / {}", group["description"], test["description"]),
                    tool: tool.clone(),
                    args: json!({ "value": test["data"] }).to_string(),
                    is_valid: test["valid"] == true,
                });
            }
        }
    }
    Ok(cases)
}

fn manifest(tool: &str, schema: &Value, remotes: &Map<String, Value>) -> Result<String, Box<dyn Error>> {
    let mut schema = schema.clone();
    if let Value::Object(schema) = &mut schema {
        schema.entry("$id").or_insert_with(|| format!("http://localhost:1234/case/{tool}").into());
    }
    let whole = json!({ "type": "object", "properties": { "value": schema } });
    // Only those that the schema can come to: the others would be compiled for nothing.
    let used = if whole.to_string().contains("localhost:1234") { remotes.clone() } else { Map::new() };
    let documents: Map<String, Value> =
        used.into_iter().map(|(uri, document)| (uri, document.to_string().into())).collect();
    let table = json!({ "tool": {
        "name": tool, "version": "1.0.0", "description": "a case of the suite", "coercion": false,
        "input_schema": whole.to_string(), "schemas": documents,
        "permissions": { "required_roles": ["suite"], "risk_level": "low" },
        "effect": { "kind": "read" }, "backend": { "type": "custom", "adapter": "suite", "tool": "noop" },
    }});
    Ok(toml::to_string(&table)?)
}

/// The documents below a folder, by their address.
fn collect(folder: &Path, address: &str, into: &mut Map<String, Value>) -> Result<(), Box<dyn Error>> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let address = format!("{address}/{name}");
        // Documents in older dialects are for older suites.
        let is_older = name.starts_with("draft") && name != "draft2020-12" || name == "v1";
        if path.is_dir() && !is_older {
            collect(&path, &address, into)?;
        } else if path.is_file() {
            into.insert(address, serde_json::from_str(&std::fs::read_to_string(&path)?)?);
        }
    }
    Ok(())
}

//! Does every field of a manifest mean what it says, in both forms? And what does configuration add to one?

use crate::support::block_on;
use crate::support::house::{House, project};
use hermes_runtime::config::{BackendCompletion, Completion, Config, Origin, Source};
use hermes_runtime::error::Kind;
use hermes_runtime::registry::Tool;
use hermes_runtime::registry::manifest::{BackoffStrategy, TargetSyntax};
use hermes_runtime::registry::tool::{self, Surroundings};
use hermes_runtime::{Call, document::Faults};
use serde_json::json;
use std::path::Path;
use std::time::Duration;

/// The manifest with every field, as it is written.
fn whole() -> String {
    std::fs::read_to_string(project().join("tests/fixtures/database_query.yaml")).unwrap()
}

fn parse(file: &str, text: &str) -> Result<Tool, Faults> {
    tool::parse(Path::new(file), text, &Surroundings::default())
}

#[test]
fn every_field_of_the_yaml_form_is_in_the_checked_tool() {
    let tool = parse("database_query.yaml", &whole()).unwrap();
    assert_eq!((&*tool.name, &*tool.version), ("database_query", "2.1.0"));
    assert_eq!(tool.timeout, Some(Duration::from_secs(30)));
    let retry = tool.retry.as_ref().unwrap();
    assert_eq!((retry.max_retries, retry.backoff), (2, BackoffStrategy::Exponential));
    assert!(retry.covers(Kind::AttemptTimeout, None) && retry.covers(Kind::Upstream, Some("connection_lost")));
    assert!(!retry.covers(Kind::Upstream, None));
    assert_eq!([1, 2, 3].map(|retry_number| retry.delay(retry_number).as_secs()), [1, 2, 4]);
    assert_eq!(tool.longest_call(Duration::from_secs(30)), Duration::from_secs(93));
    let limit = tool.rate_limit.unwrap();
    assert_eq!((limit.per_minute, limit.per_hour, limit.burst), (Some(10), Some(200), Some(3)));
    let health = tool.health_check.unwrap();
    assert_eq!((health.interval.as_secs(), health.timeout.as_secs(), health.threshold), (60, 5, 3));
    let backend = &tool.backends[0];
    assert_eq!((backend.adapter.as_str(), backend.connection_pool_size), ("MCPAdapter", Some(5)));
    assert_eq!(backend.endpoint.as_deref(), Some("mcp://database-server/query"));
    let declared = tool.manifest.metadata.as_ref().unwrap().evolution_stats.as_ref().unwrap();
    assert_eq!((declared.total_invocations, declared.success_rate), (Some(12847), Some(0.978)));
    assert_eq!(tool.input.fields["timeout_seconds"].default, Some(json!(30)));
}

#[test]
fn both_forms_of_a_manifest_say_the_same() {
    let yaml = parse("a.yaml", &whole()).unwrap().manifest;
    let toml = toml::to_string(&json!({ "tool": yaml })).unwrap();
    let again = parse("a.toml", &toml).unwrap().manifest;
    assert_eq!(serde_json::to_value(&yaml).unwrap(), serde_json::to_value(&again).unwrap());
}

#[test]
fn a_tool_whose_adapter_is_not_there_loads_and_its_calls_name_what_is_missing() {
    let house = House::empty();
    std::fs::create_dir(house.path("tools")).unwrap();
    std::fs::write(house.path("tools/database_query.yaml"), whole()).unwrap();
    let mut config = house.config();
    config.plugin_folders.clear();
    config.tool_folders = vec![house.path("tools")];
    let runtime = house.start(config);
    let args = json!({ "query": "SELECT 1", "database": "content" });
    let answer = block_on(runtime.call(Call::new("database_query", args).role("Admin"))).envelope;
    let error = answer.error.unwrap();
    assert_eq!(error.kind, Kind::NoAdapter);
    for word in ["`MCPAdapter`", "`database_query`", "mcp://database-server/query"] {
        assert!(error.message.contains(word), "{}", error.message);
    }
}

#[test]
fn an_error_that_nobody_knows_is_not_retried_but_refused() {
    let text = whole().replace("\"CONNECTION_LOST\"", "\"conection_lost\"");
    let faults = parse("a.yaml", &text).unwrap_err().to_string();
    assert!(faults.contains("`conection_lost`") && faults.contains("did you mean `connection_lost`?"), "{faults}");
}

#[test]
fn configuration_completes_a_manifest_without_touching_it() {
    let text = "
[tools.database_query]
aliases = ['db_query']
target = [{ argument = 'query', syntax = 'sql' }, { argument = 'database', syntax = 'name' }]
labels = { user_profiles = ['production', 'personal'], 'test_*' = ['test'] }
effect = { kind = 'write' }
[tools.database_query.backend]
arguments = { sql = '{query}', db = '{database}' }
result = { rows = '{/structured/rows}' }
";
    let source = Source { origin: Origin::User("/c.toml".into()), text: text.into(), trusted: true };
    let completions = Config::load(Config::new("/s", "/c"), &[source]).unwrap().config.completions;
    let completion = &completions["database_query"];
    let tool = completed(completion).unwrap();
    assert_eq!(tool.aliases, ["db_query"]);
    assert_eq!(
        tool.targets.iter().map(|target| target.syntax).collect::<Vec<_>>(),
        [TargetSyntax::Sql, TargetSyntax::Name]
    );
    assert_eq!(tool.labels_of("user_profiles").collect::<Vec<_>>(), ["production", "personal"]);
    assert_eq!(tool.labels_of("test_a").collect::<Vec<_>>(), ["test"]);
    let args = json!({ "query": "SELECT 1", "database": "content" });
    let arguments = tool.backends[0].arguments.as_ref().unwrap();
    assert_eq!(arguments.fill_arguments(&args), json!({ "sql": "SELECT 1", "db": "content" }));
    assert_eq!(tool.manifest.backend.0[0].arguments, None, "the manifest is as it was");
}

#[test]
fn a_template_that_cannot_be_mapped_is_refused_at_load() {
    let member = |key: &str, text: &str| Some([(key.to_owned(), json!(text))].into_iter().collect());
    let cases = [
        (BackendCompletion { arguments: member("sql", "{qery}"), result: None }, "`{qery}`"),
        (BackendCompletion { arguments: member("sql", "EXPLAIN {query}"), result: None }, "free text"),
        (BackendCompletion { arguments: None, result: member("lines", "{/rows}") }, "`lines`"),
        (BackendCompletion { arguments: None, result: member("rows", "{rows}") }, "`{rows}`"),
    ];
    for (backend, word) in cases {
        let faults =
            completed(&Completion { backend: Some(backend), ..Completion::default() }).unwrap_err().to_string();
        assert!(faults.starts_with("configuration: ") && faults.contains(word), "{faults}");
    }
}

fn completed(completion: &Completion) -> Result<Tool, Faults> {
    let surroundings = Surroundings { completion: Some(completion), reasons: None, built_in: None };
    tool::parse(Path::new("database_query.yaml"), &whole(), &surroundings)
}

#[test]
fn documents_are_checked_also_where_inputs_are_listed() {
    let with = |document: &str| {
        let manifest = format!(
            "[tool]\nname = \"a\"\nversion = \"1.0.0\"\ndescription = \"does\"\ninputs = [{{ name = \"x\", type = \"string\" }}]\n\
             schemas = {{ \"http://x.test/n.json\" = '{document}' }}\npermissions = {{ risk_level = \"low\" }}\n\
             backend = {{ type = \"x\", adapter = \"x\" }}\n"
        );
        parse("a.toml", &manifest)
    };
    with(r#"{ "$defs": { "n": { "enum": [null, 1] } } }"#).unwrap();
    let faults = with(r#"{ "$ref": "http://127.0.0.1:9/m.json" }"#).unwrap_err().to_string();
    assert!(faults.contains("schema is wrong"), "{faults}");
}

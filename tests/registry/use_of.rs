//! Is it known how tools are used, and told when nobody uses one? And does a tool that was taken out stay out?

use super::manifest;
use crate::support::block_on;
use crate::support::guest::Guest;
use crate::support::house::{House, call};
use crate::support::user::User;
use hermes_runtime::Runtime;
use hermes_runtime::error::Kind;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Far more than any of it takes.
const WATCHDOG: Duration = Duration::from_secs(60);
const DAY_MS: i64 = 86_400_000;

/// A house with three tools of a guest.
fn house() -> House {
    let house = House::empty();
    Guest::default().put(&house);
    std::fs::create_dir(house.path("tools")).unwrap();
    for (file, name, description) in [
        ("a.toml", "weather_now", "Says the weather of a city now"),
        ("b.toml", "weather_old", "Says the weather of a city as it was"),
        ("c.toml", "ledger", "Adds a line to a ledger"),
    ] {
        let text = manifest(name, "1.0.0", "probe").replace(&format!("Does {name}"), description);
        std::fs::write(house.path("tools").join(file), text).unwrap();
    }
    house
}

fn start(house: &House) -> Runtime {
    let mut config = house.config();
    config.tool_folders = vec![house.path("tools")];
    house.start(config)
}

fn database(house: &House) -> rusqlite::Connection {
    let connection = rusqlite::Connection::open(house.path("state/journal.db")).unwrap();
    connection.busy_timeout(WATCHDOG).unwrap();
    connection
}

/// Waits until something is there, which another thread writes.
#[track_caller]
fn wait_for<T>(what: &str, look: impl Fn() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < WATCHDOG, "{what} never came");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// All events about low use, as they are written.
fn flagged(house: &House) -> Vec<Value> {
    let connection = database(house);
    let mut statement = connection
        .prepare("SELECT body FROM records WHERE kind = 'event' AND body LIKE '%registry.low_use%' ORDER BY seq")
        .unwrap();
    let bodies = statement.query_map((), |row| row.get::<_, String>(0)).unwrap();
    bodies.map(|body| serde_json::from_str(&body.unwrap()).unwrap()).collect()
}

fn seen(house: &House) -> Option<()> {
    let count = "SELECT count(*) FROM tool_life";
    let count: i64 = database(house).query_row(count, (), |row| row.get(0)).ok()?;
    (count >= 4).then_some(())
}

#[test]
fn a_tool_that_nobody_calls_is_flagged_once_with_its_evaluation() {
    let house = house();
    let runtime = start(&house);
    for _ in 0..3 {
        assert_eq!(
            block_on(runtime.call(call("weather_now", json!({})))).envelope.error.map(|error| error.message.clone()),
            None
        );
    }
    block_on(runtime.call(call("ledger", json!({})).role("nobody")));
    assert!(block_on(runtime.flush()));
    wait_for("the first round", || seen(&house));
    drop(runtime);
    assert_eq!(flagged(&house), [] as [Value; 0], "new tools are not old");

    // A month passes.
    let month = 31 * DAY_MS;
    database(&house).execute("UPDATE tool_life SET first_ms = first_ms - ?1", [month]).unwrap();
    database(&house).execute("UPDATE tool_use SET last_ms = last_ms - ?1 WHERE last_ms > 0", [month]).unwrap();
    let runtime = start(&house);
    let events = wait_for("the flags", || Some(flagged(&house)).filter(|events| events.len() >= 4));
    let of = |tool: &str| {
        let found: Vec<&Value> = events.iter().filter(|event| event["details"]["tool"] == tool).collect();
        assert_eq!(found.len(), 1, "{tool}: {events:#?}");
        found[0]["details"]["evaluation"].clone()
    };
    let old = of("weather_old");
    assert_eq!((&old["calls"], &old["last_used_ms"]), (&json!(0), &json!(null)), "{old:#}");
    assert_eq!(old["neighbours"][0]["tool"], "weather_now", "{old:#}");
    assert!(old["suggestion"].as_str().unwrap().contains("`weather_now` is like it and was called 3 times"), "{old:#}");
    let ledger = of("ledger");
    assert_eq!(ledger["denials"], 1);
    assert!(ledger["suggestion"].as_str().unwrap().contains("rework its roles"), "{ledger:#}");
    let now = of("weather_now");
    assert!(now["last_used_ms"].as_u64().is_some(), "called long ago is flagged, too: {now:#}");
    drop(runtime);

    // Another process does not say it again, and a call takes the flag away.
    let runtime = start(&house);
    block_on(runtime.call(call("weather_now", json!({}))));
    assert!(block_on(runtime.flush()));
    let low: Vec<String> = block_on(runtime.low_use()).unwrap().into_keys().collect();
    assert!(low.contains(&"weather_old".to_owned()) && !low.contains(&"weather_now".to_owned()), "{low:?}");
    drop(runtime);
    assert_eq!(flagged(&house).len(), events.len());
}

/// A user with one tool of a guest.
fn user() -> User {
    let user = User::with_guest(&Guest::default());
    user.write(
        "tools/a.toml",
        manifest("greet", "1.0.0", "probe").replace("version", "aliases = [\"hello\"]\nversion"),
    );
    let (plugins, tools) = (user.path("plugins"), user.path("tools"));
    user.configure(&format!(
        "plugin_folders = [{plugins:?}]\ntool_folders = [{tools:?}]\n[roles.Builder]\ndefault = true\n"
    ));
    user
}

#[test]
fn a_retired_tool_is_gone_until_a_person_brings_it_back() {
    let user = user();
    user.run(&["tools", "retire", "hello", "--output", "text"]).exits(0);
    for name in ["greet", "hello", "greet@^1"] {
        let refused = user.run(&["call", name]).exits(5).json();
        assert_eq!(
            (&refused["error"]["code"], &refused["error"]["kind"]),
            (&json!(410), &json!("retired")),
            "{refused:#}"
        );
    }
    let listed = user.run(&["tools", "list"]).exits(0).json();
    assert!(listed.as_array().unwrap().iter().all(|tool| tool["name"] != "greet"));
    user.run(&["tools", "retire", "greet"]).exits(8).says(&["out of service already"]);
    // Whoever has no terminal cannot widen what can be called.
    user.run(&["tools", "enable", "greet"]).exits(6).says(&["needs a person at a terminal"]);
    user.at_terminal(&["tools", "enable", "greet"], &[("be called again? [y/N]", "n\n")]).exits(6);
    user.run(&["call", "greet"]).exits(5);
    user.at_terminal(&["tools", "enable", "greet"], &[("be called again? [y/N]", "y\n")]).exits(0);
    user.run(&["call", "greet"]).exits(0);
    user.run(&["tools", "retire", "nobody"]).exits(5);
}

#[test]
fn a_process_that_runs_follows_what_another_one_changed() {
    let house = house();
    let (one, other) = (start(&house), start(&house));
    let ask =
        |runtime: &Runtime| block_on(runtime.call(call("ledger", json!({})))).envelope.error.map(|error| error.kind);
    let mut revision = other.revision();
    assert_eq!(ask(&other), None);
    block_on(one.set_service("ledger", Some(hermes_runtime::registry::Out::Disabled), "tester")).unwrap();
    assert_eq!(ask(&one), Some(Kind::Retired), "who changes it follows at once");
    block_on(async { tokio::time::timeout(WATCHDOG, revision.changed()).await }).unwrap().unwrap();
    assert_eq!(ask(&other), Some(Kind::Retired));
    block_on(other.set_service("ledger", None, "tester")).unwrap();
    wait_for("the tool", || ask(&one).is_none().then_some(()));
}

#[test]
fn figures_name_versions_days_and_names_that_no_tool_has() {
    let user = user();
    user.write("tools/b.toml", manifest("greet", "2.0.0", "probe"));
    for tool in ["greet", "greet", "greet@^1", "gret", "gret"] {
        user.run(&["call", tool]);
    }
    let stats = user.run(&["stats", "tools"]).exits(0).json();
    let row = |version: &str| {
        let rows = stats["tools"].as_array().unwrap();
        rows.iter().find(|row| row["tool"] == "greet" && row["version"] == version).unwrap().clone()
    };
    assert_eq!((&row("2.0.0")["calls"], &row("1.0.0")["calls"]), (&json!(2), &json!(1)), "{stats:#}");
    assert_eq!(row("2.0.0")["days"].as_object().unwrap().values().next(), Some(&json!(2)));
    assert!(row("2.0.0")["p99_ms"].as_f64().unwrap() > 0.0);
    assert_eq!(
        (&stats["unknown_names"][0]["name"], &stats["unknown_names"][0]["lookups"]),
        (&json!("gret"), &json!(2))
    );
    let adapters = user.run(&["stats", "adapters"]).exits(0).json();
    assert_eq!(adapters["adapters"][0]["adapter"], "probe");
    let shown = user.at_terminal(&["stats", "tools", "--heat"], &[]).exits(0).out;
    for word in ["greet 2.0.0", "▆", "gret", "no tool has this name", "lookups by day", "█"] {
        assert!(shown.contains(word), "no {word} in\n{shown}");
    }
    let live = user.run(&["tools", "show", "greet"]).exits(0).json();
    assert_eq!(live["manifest"]["metadata"]["evolution_stats"]["total_invocations"], 2);
}

#[test]
fn a_search_says_why_each_tool_stands_where_it_stands() {
    let user = user();
    user.write("tools/b.toml", manifest("greet_all", "1.0.0", "probe"));
    user.run(&["call", "greet_all"]).exits(0);
    let found = user.run(&["tools", "search", "greet"]).exits(0).json();
    let names: Vec<&Value> = found.as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert!(names.contains(&&json!("greet")) && names.contains(&&json!("greet_all")), "{found:#}");
    let all = found.as_array().unwrap().iter().find(|tool| tool["name"] == "greet_all").unwrap();
    assert!(all["reason"].as_str().unwrap().contains("1 calls, at least 21 % of such calls succeed"), "{all:#}");
    assert_eq!(user.run(&["tools", "search", "zzzz"]).exits(0).json(), json!([]));
}

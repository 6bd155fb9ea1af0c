//! Does the table in `coercion.md` say what happens?

use crate::call::Arguments;
use crate::registry::tool::{self, Surroundings};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

fn judge(schema: &Value, args: &str) -> Result<crate::call::Judged, crate::Error> {
    let schema = json!({ "type": "object", "properties": { "x": schema }, "additionalProperties": false });
    let manifest = format!(
        "[tool]\nname = \"probe\"\nversion = \"0.1.0\"\ndescription = \"x\"\ninput_schema = '{schema}'\n\
         permissions = {{ risk_level = \"low\" }}\nbackend = {{ type = \"custom\", adapter = \"probe\" }}\n"
    );
    let tool = tool::parse(Path::new("probe.toml"), &manifest, &Surroundings::default())
        .unwrap_or_else(|faults| panic!("{schema}: {faults}"));
    super::super::judge(&tool, &Arguments::Json(args.to_owned()), Duration::MAX)
}

#[test]
fn every_row_of_the_table_holds() {
    let rows = include_str!("coercion.md").lines().filter(|line| line.starts_with("| `{"));
    let mut count = 0;
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(|cell| cell.trim().trim_matches('`')).collect();
        let [schema, sent, arrives, rules] = cells[..] else { panic!("four cells: {row}") };
        let schema: Value = serde_json::from_str(schema).unwrap_or_else(|error| panic!("{row}: {error}"));
        let judged = judge(&schema, &format!("{{\"x\":{sent}}}"));
        let got = match &judged {
            Ok(judged) => judged.value.get("x").map_or("absent".to_owned(), Value::to_string),
            Err(error) => error.code.to_string(),
        };
        // One number can be written in two ways.
        let same_number =
            || Some(serde_json::from_str::<f64>(&got).ok()? == serde_json::from_str::<f64>(arrives).ok()?);
        assert!(got == arrives || rules.is_empty() && same_number() == Some(true), "{row}: {got} {judged:?}");
        let repairs = judged.map(|judged| judged.repairs.to_vec()).unwrap_or_default();
        let told: Vec<&str> = repairs.iter().map(|repair| repair.rule.as_str()).collect();
        assert_eq!(told.join(", "), rules, "{row}");
        count += 1;
    }
    assert!(count > 50, "only {count} rows were found");
}

/// Every rule of the table has a row in the document.
#[test]
fn every_rule_is_written_down() {
    for rule in &super::TABLE {
        assert!(include_str!("coercion.md").contains(&format!("| {} |", rule.name)), "{}", rule.name);
    }
}

#[test]
fn a_tool_that_wants_no_repairs_gets_none() {
    let manifest = "[tool]\nname = \"probe\"\nversion = \"0.1.0\"\ndescription = \"x\"\ncoercion = false\n\
         permissions = { risk_level = \"low\" }\nbackend = { type = \"custom\", adapter = \"probe\" }\n\
         [[tool.inputs]]\nname = \"x\"\ntype = \"integer\"\n";
    let tool = tool::parse(Path::new("probe.toml"), manifest, &Surroundings::default()).unwrap();
    let judge = |args: &str| super::super::judge(&tool, &Arguments::Json(args.to_owned()), Duration::MAX);
    assert!(judge("{\"x\":1}").is_ok());
    for loose in ["{\"x\":\"1\"}", "{\"x\":null}", "\"{\\\"x\\\":1}\""] {
        assert_eq!(judge(loose).unwrap_err().code, 400, "{loose}");
    }
}

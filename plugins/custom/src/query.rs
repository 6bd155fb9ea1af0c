//! `json_query`: what do rows of JSON say? Filters, groups, calculates, sorts and cuts them. Pure, exact, and without
//! any capability.

use crate::value::{Sum, compare, find, same};
use hermes_sdk::{Answer, Call, Failure, IntoAnswer, Tool};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// The tool. Its schema says more than types can, so it is written by hand.
pub(crate) fn tool() -> Tool {
    fn schema() -> Value {
        serde_json::from_str(include_str!("schema/json_query.json")).unwrap_or_default()
    }
    fn call(arguments: &str, _: &Call) -> hermes_sdk::Result<Answer> {
        run(&hermes_sdk::arguments(arguments)?)?.into_answer()
    }
    Tool::new("json_query", "Filter, group, calculate over and sort rows of JSON", schema, call)
}

/// The arguments of `json_query`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    data: Value,
    #[serde(default)]
    at: String,
    #[serde(default, rename = "where")]
    conditions: Vec<Condition>,
    #[serde(default)]
    group_by: Vec<String>,
    #[serde(default)]
    aggregate: Vec<Aggregate>,
    #[serde(default)]
    select: Vec<String>,
    #[serde(default)]
    sort: Vec<Sort>,
    #[serde(default)]
    offset: usize,
    #[serde(default = "limit")]
    limit: usize,
}

fn limit() -> usize {
    1000
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Condition {
    field: String,
    is: Comparison,
    #[serde(default)]
    value: Value,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Comparison {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    In,
    Contains,
    StartsWith,
    EndsWith,
    Present,
    Absent,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Aggregate {
    op: Operation,
    field: Option<String>,
    #[serde(rename = "as")]
    name: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Operation {
    Count,
    Sum,
    Min,
    Max,
    Mean,
    Distinct,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sort {
    field: String,
    #[serde(default)]
    descending: bool,
}

/// Answers with the rows, how many matched and how many there were.
pub(crate) fn run(arguments: &Arguments) -> Result<Value, Failure> {
    let rows = rows(arguments)?;
    let mut matched = Vec::new();
    for row in &rows {
        if holds(&arguments.conditions, row)? {
            matched.push(*row);
        }
    }
    let grouped = !arguments.group_by.is_empty() || !arguments.aggregate.is_empty();
    let mut answer: Vec<Value> = match grouped {
        true => groups(arguments, &matched)?,
        false => matched.iter().map(|row| (*row).clone()).collect(),
    };
    sort(&mut answer, &arguments.sort);
    let total = answer.len();
    let shown: Vec<Value> = answer.into_iter().skip(arguments.offset).take(arguments.limit).collect();
    let shown: Vec<Value> = match arguments.select.is_empty() {
        true => shown,
        false => shown.iter().map(|row| picked(row, &arguments.select)).collect(),
    };
    let more = total.saturating_sub(arguments.offset + shown.len());
    Ok(json!({
        "rows": shown, "total": total, "matched": matched.len(), "of": rows.len(), "truncated": more > 0,
    }))
}

fn rows(arguments: &Arguments) -> Result<Vec<&Value>, Failure> {
    let found = find(&arguments.data, &arguments.at).ok_or_else(|| {
        let keys = match &arguments.data {
            Value::Object(members) => {
                members.keys().take(10).map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ")
            }
            _ => String::new(),
        };
        let hint = if keys.is_empty() {
            "leave `at` out for the document itself".to_owned()
        } else {
            format!("the document has {keys}")
        };
        Failure::because("not_found", format!("nothing is at `{}` in the document", arguments.at)).hint(hint)
    })?;
    match found {
        Value::Array(items) => Ok(items.iter().collect()),
        Value::Object(_) => Ok(vec![found]),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            Err(Failure::because("not_a_list", format!("what is at `{}` is no list and no object", arguments.at))
                .hint("name a list of rows with `at`"))
        }
    }
}

fn holds(conditions: &[Condition], row: &Value) -> Result<bool, Failure> {
    for condition in conditions {
        if !condition.holds(row)? {
            return Ok(false);
        }
    }
    Ok(true)
}

impl Condition {
    fn holds(&self, row: &Value) -> Result<bool, Failure> {
        let found = find(row, &self.field);
        let wanted = &self.value;
        // Values of different types have no order, so none of the four comparisons holds for them.
        let ordered = |holds: fn(std::cmp::Ordering) -> bool| {
            found.is_some_and(|found| {
                std::mem::discriminant(found) == std::mem::discriminant(wanted) && holds(compare(found, wanted))
            })
        };
        let text = |holds: fn(&str, &str) -> bool| {
            found.and_then(Value::as_str).zip(wanted.as_str()).is_some_and(|(found, wanted)| holds(found, wanted))
        };
        Ok(match self.is {
            Comparison::Eq => found.is_some_and(|found| same(found, wanted)),
            Comparison::Ne => found.is_none_or(|found| !same(found, wanted)),
            Comparison::Lt => ordered(std::cmp::Ordering::is_lt),
            Comparison::Le => ordered(std::cmp::Ordering::is_le),
            Comparison::Gt => ordered(std::cmp::Ordering::is_gt),
            Comparison::Ge => ordered(std::cmp::Ordering::is_ge),
            Comparison::In => {
                let choices = wanted.as_array().ok_or_else(|| {
                    Failure::because(
                        "not_a_list",
                        format!("the condition on `{}` is `in` and its value is no list", self.field),
                    )
                })?;
                found.is_some_and(|found| choices.iter().any(|choice| same(found, choice)))
            }
            Comparison::Contains => match found {
                Some(Value::Array(items)) => items.iter().any(|item| same(item, wanted)),
                _ => text(|found, wanted| found.contains(wanted)),
            },
            Comparison::StartsWith => text(|found, wanted| found.starts_with(wanted)),
            Comparison::EndsWith => text(|found, wanted| found.ends_with(wanted)),
            Comparison::Present => found.is_some_and(|found| !found.is_null()),
            Comparison::Absent => found.is_none_or(Value::is_null),
        })
    }
}

/// One row a group, in the order in which the groups first appear.
fn groups(arguments: &Arguments, rows: &[&Value]) -> Result<Vec<Value>, Failure> {
    let key = |row: &Value| -> Vec<Value> {
        arguments.group_by.iter().map(|field| find(row, field).cloned().unwrap_or_default()).collect()
    };
    let mut order: Vec<(Vec<Value>, Vec<&Value>)> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for row in rows {
        let key = key(row);
        let place = *places.entry(Value::from(key.clone()).to_string()).or_insert(order.len());
        if place == order.len() {
            order.push((key, Vec::new()));
        }
        order[place].1.push(row);
    }
    // Without groups, all rows are one, also when there are none.
    if arguments.group_by.is_empty() && order.is_empty() {
        order.push((Vec::new(), Vec::new()));
    }
    order.into_iter().map(|(key, rows)| group(arguments, key, &rows)).collect()
}

fn group(arguments: &Arguments, key: Vec<Value>, rows: &[&Value]) -> Result<Value, Failure> {
    let mut row: Map<String, Value> = arguments.group_by.iter().cloned().zip(key).collect();
    if arguments.aggregate.is_empty() {
        row.insert("count".to_owned(), json!(rows.len()));
    }
    for aggregate in &arguments.aggregate {
        row.insert(aggregate.name(), aggregate.over(rows)?);
    }
    Ok(Value::Object(row))
}

impl Aggregate {
    fn name(&self) -> String {
        let op = match self.op {
            Operation::Count => "count",
            Operation::Sum => "sum",
            Operation::Min => "min",
            Operation::Max => "max",
            Operation::Mean => "mean",
            Operation::Distinct => "distinct",
        };
        let usual = || self.field.as_ref().map_or(op.to_owned(), |field| format!("{op}_{field}"));
        self.name.clone().unwrap_or_else(usual)
    }

    fn over(&self, rows: &[&Value]) -> Result<Value, Failure> {
        let field = match (&self.field, self.op) {
            (Some(field), _) => field,
            (None, Operation::Count) => return Ok(json!(rows.len())),
            (None, _) => return Err(Failure::invalid(format!("the aggregate `{}` needs a `field`", self.name()))),
        };
        // Rows without the field, or with null, do not count, as in SQL.
        let values = rows.iter().filter_map(|row| find(row, field)).filter(|value| !value.is_null());
        let overflow = || {
            Failure::because(
                "number_overflow",
                format!("the {} of `{field}` is no number that JSON holds", self.name()),
            )
        };
        match self.op {
            Operation::Count => Ok(json!(values.count())),
            Operation::Min => Ok(values.min_by(|a, b| compare(a, b)).cloned().unwrap_or_default()),
            Operation::Max => Ok(values.max_by(|a, b| compare(a, b)).cloned().unwrap_or_default()),
            Operation::Distinct => {
                let mut seen: Vec<&Value> = values.collect();
                seen.sort_by(|a, b| compare(a, b));
                seen.dedup_by(|a, b| same(a, b));
                Ok(json!(seen.len()))
            }
            Operation::Sum | Operation::Mean => {
                let mut sum = Sum::default();
                for value in values {
                    sum.add(value).ok_or_else(|| {
                        let shown: String = value.to_string().chars().take(80).collect();
                        Failure::because("not_a_number", format!("`{field}` has {shown}, which is no number"))
                            .hint("leave such rows out with `where`")
                    })?;
                }
                match self.op {
                    Operation::Mean if sum.count == 0 => Ok(Value::Null),
                    Operation::Mean => sum.mean().ok_or_else(overflow),
                    _ => sum.total().ok_or_else(overflow),
                }
            }
        }
    }
}

fn sort(rows: &mut [Value], by: &[Sort]) {
    rows.sort_by(|a, b| {
        let order = |sort: &Sort| match (find(a, &sort.field), find(b, &sort.field)) {
            (Some(a), Some(b)) if sort.descending => compare(b, a),
            (Some(a), Some(b)) => compare(a, b),
            (a, b) => a.is_none().cmp(&b.is_none()),
        };
        by.iter().map(order).find(|order| order.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
    });
}

fn picked(row: &Value, fields: &[String]) -> Value {
    let pick = |field: &String| Some((field.clone(), find(row, field)?.clone()));
    Value::Object(fields.iter().filter_map(pick).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(arguments: Value) -> Result<Value, Failure> {
        run(&serde_json::from_value(arguments).unwrap())
    }

    fn orders() -> Value {
        json!([
            { "id": 1, "customer": { "name": "Ada" }, "total": 30, "tags": ["new"] },
            { "id": 2, "customer": { "name": "Bob" }, "total": 12 },
            { "id": 3, "customer": { "name": "Ada" }, "total": 8, "tags": [] },
            { "id": 4, "customer": { "name": "Cem" } },
        ])
    }

    #[test]
    fn groups_and_sums_are_sorted_and_counted() {
        let answer = ask(json!({
            "data": { "orders": orders() }, "at": "orders", "group_by": ["customer.name"],
            "aggregate": [{ "op": "sum", "field": "total", "as": "spent" }, { "op": "count" }],
            "sort": [{ "field": "spent", "descending": true }],
        }));
        let expect = json!([
            { "customer.name": "Ada", "spent": 38, "count": 2 },
            { "customer.name": "Bob", "spent": 12, "count": 1 },
            { "customer.name": "Cem", "spent": 0, "count": 1 },
        ]);
        assert_eq!(answer.unwrap()["rows"], expect);
    }

    #[test]
    fn conditions_hold_for_what_is_there() {
        let ids = |condition: Value| {
            let answer = ask(json!({ "data": orders(), "where": [condition], "select": ["id"] })).unwrap();
            answer["rows"].as_array().unwrap().iter().map(|row| row["id"].as_u64().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(ids(json!({ "field": "total", "is": "gt", "value": 8 })), [1, 2]);
        assert_eq!(ids(json!({ "field": "total", "is": "lt", "value": "9" })), [] as [u64; 0]);
        assert_eq!(ids(json!({ "field": "total", "is": "absent" })), [4]);
        assert_eq!(ids(json!({ "field": "tags", "is": "contains", "value": "new" })), [1]);
        assert_eq!(ids(json!({ "field": "customer.name", "is": "in", "value": ["Bob", "Cem"] })), [2, 4]);
        assert_eq!(ids(json!({ "field": "/customer/name", "is": "ne", "value": "Ada" })), [2, 4]);
    }

    #[test]
    fn failures_have_reasons() {
        let reason = |arguments: Value| ask(arguments).unwrap_err().reason;
        let check = |arguments: Value, expect: Option<&str>| assert_eq!(reason(arguments).as_deref(), expect);
        check(json!({ "data": {}, "at": "x" }), Some("not_found"));
        check(json!({ "data": { "x": 1 }, "at": "x" }), Some("not_a_list"));
        let sum = json!([{ "op": "sum", "field": "n" }]);
        check(json!({ "data": [{ "n": "1" }], "aggregate": sum }), Some("not_a_number"));
        check(json!({ "data": [{ "n": u64::MAX }, { "n": 1 }], "aggregate": sum }), Some("number_overflow"));
        check(json!({ "data": [], "aggregate": [{ "op": "sum" }] }), None);
    }

    #[test]
    fn a_cut_answer_says_so() {
        let answer = ask(json!({ "data": orders(), "limit": 2, "offset": 1, "select": ["id"] })).unwrap();
        assert_eq!(
            answer,
            json!({ "rows": [{ "id": 2 }, { "id": 3 }], "total": 4, "matched": 4, "of": 4, "truncated": true })
        );
        let all = ask(json!({ "data": [], "aggregate": [{ "op": "count" }, { "op": "mean", "field": "n" }] })).unwrap();
        assert_eq!(all["rows"], json!([{ "count": 0, "mean_n": null }]));
    }
}

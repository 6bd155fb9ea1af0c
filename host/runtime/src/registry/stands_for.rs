//! Which tool is meant by a call of one that only stands for others? Such a tool names an endpoint with some of its
//! arguments; the registry's entry with that endpoint is called in its place, so that its roles, risk, limits and
//! schema count. Must not check the arguments: who does, sees either call as it was written.

use super::Registry;
use crate::call::{Arguments, Call};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeSet;

/// How a tool names the one that is meant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StandsFor {
    /// The endpoint of the tool that is meant. `{name}` is the text of an argument, percent-encoded.
    pub endpoint: String,
    /// The argument that holds the arguments of the tool that is meant. Without it those that the endpoint does not name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<String>,
}

/// The call that is meant. One that cannot be made out is returned as it is: checking its arguments says why.
pub fn meant<'a>(registry: &Registry, call: &'a Call) -> Cow<'a, Call> {
    let tool = registry.find(&call.tool);
    let stands_for = tool.and_then(|tool| tool.manifest.stands_for.as_ref());
    match stands_for.and_then(|stands_for| stands_for.resolve(&call.args)) {
        Some((endpoint, args)) => {
            let name = registry.by_endpoint.get(&endpoint).cloned();
            let tool = name.map_or(endpoint, |tool| tool.name.to_string());
            Cow::Owned(Call { tool, args: Arguments::Json(args), ..call.clone() })
        }
        None => Cow::Borrowed(call),
    }
}

impl StandsFor {
    fn resolve(&self, args: &Arguments) -> Option<(String, String)> {
        let text = match args {
            Arguments::Json(text) => Cow::Borrowed(text.as_str()),
            Arguments::Value(value) => Cow::Owned(value.to_string()),
        };
        let Members(members) = serde_json::from_str(&text).ok()?;
        let names: BTreeSet<&str> = members.iter().map(|(name, _)| name.as_str()).collect();
        if names.len() != members.len() {
            // Which of two is meant nobody knows.
            return None;
        }
        let member = |name: &str| members.iter().find(|(member, _)| member == name).map(|(_, value)| value.get());
        let mut endpoint = String::new();
        let mut named = BTreeSet::new();
        let mut rest = self.endpoint.as_str();
        while let Some((before, after)) = rest.split_once('{') {
            let (name, after) = after.split_once('}')?;
            endpoint.push_str(before);
            endpoint.push_str(&encoded(&serde_json::from_str::<String>(member(name)?).ok()?));
            named.insert(name);
            rest = after;
        }
        endpoint.push_str(rest);
        let others = || members.iter().filter(|(name, _)| !named.contains(name.as_str()));
        let args = match &self.arguments {
            Some(holder) if others().all(|(name, _)| name == holder) => match member(holder) {
                Some(args) if args != "null" => args.to_owned(),
                Some(_) | None => "{}".to_owned(),
            },
            Some(_) => return None,
            None => {
                let member =
                    |(name, value): &(String, Box<RawValue>)| format!("{}:{}", serde_json::json!(name), value.get());
                format!("{{{}}}", others().map(member).collect::<Vec<_>>().join(","))
            }
        };
        Some((endpoint, args))
    }
}

/// A text as one part of an endpoint.
pub fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~');
    let encode = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(encode).collect()
}

/// The members of an object as they stand there, also one that is there twice.
struct Members(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Members, D::Error> {
        struct All;
        impl<'de> Visitor<'de> for All {
            type Value = Members;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(All)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(arguments: Option<&str>, args: &str) -> Option<(String, String)> {
        let stands_for =
            StandsFor { endpoint: "mcp://{server}/{tool}".into(), arguments: arguments.map(str::to_owned) };
        stands_for.resolve(&Arguments::Json(args.to_owned()))
    }

    #[test]
    fn arguments_are_passed_on_as_they_are_written() {
        let (endpoint, args) =
            resolve(Some("with"), r#"{"server":"s","tool":"a/b","with":{"x":1,"x":2,"big":1e400}}"#).unwrap();
        assert_eq!((endpoint.as_str(), args.as_str()), ("mcp://s/a%2Fb", r#"{"x":1,"x":2,"big":1e400}"#));
        let (_, args) = resolve(None, r#"{"uri":"u","server":"s","tool":"t"}"#).unwrap();
        assert_eq!(args, r#"{"uri":"u"}"#);
        assert_eq!(resolve(Some("with"), r#"{"server":"s","tool":"t"}"#).unwrap().1, "{}");
    }

    #[test]
    fn what_cannot_be_made_out_stays_as_it_is() {
        for args in [
            "{",
            "[]",
            r#"{"server":"s"}"#,
            r#"{"server":1,"tool":"t"}"#,
            r#"{"server":"s","tool":"t","other":1}"#,
            r#"{"server":"s","server":"s","tool":"t"}"#,
        ] {
            assert_eq!(resolve(Some("with"), args), None, "{args}");
        }
    }
}

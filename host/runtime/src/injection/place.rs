//! Where in a conversation does an answer belong? Right after the turn that asked, by call id, in call order, exactly
//! once. Knows the message lists of OpenAI and Anthropic. Pure.

use super::render;
use crate::envelope::Envelope;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// An answer to a call of that id.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The id that the model gave its call.
    pub call_id: String,
    /// What came of it.
    pub envelope: Envelope,
}

/// Why an answer is not in the conversation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unplaced {
    /// No turn asked for it.
    #[error("no turn of the conversation made the call `{0}`")]
    NotAsked(String),
    /// It was answered before, and not by "a person has to decide".
    #[error("the call `{0}` has its answer already")]
    Answered(String),
}

/// Puts each answer into the conversation. Those of one turn stand in the order of its calls, whatever the order in which
/// they came. An answer that says that a person has to decide is replaced by the later one.
///
/// Returns what could not be placed; the conversation is as it was for those.
pub fn into(messages: &mut Vec<Value>, answers: &[Answer]) -> Vec<Unplaced> {
    let mut unplaced = Vec::new();
    for answer in answers {
        match messages.iter().rposition(|message| asked(message).contains(&answer.call_id)) {
            None => unplaced.push(Unplaced::NotAsked(answer.call_id.clone())),
            Some(turn) => {
                let placed = match messages[turn].get("tool_calls") {
                    Some(_) => after_openai(messages, turn, answer),
                    None => after_anthropic(messages, turn, answer),
                };
                if !placed {
                    unplaced.push(Unplaced::Answered(answer.call_id.clone()));
                }
            }
        }
    }
    unplaced
}

/// The ids of the calls that a message makes, in order.
fn asked(message: &Value) -> Vec<String> {
    if message["role"] != "assistant" {
        return Vec::new();
    }
    let id = |call: &Value| call["id"].as_str().map(str::to_owned);
    let openai = message["tool_calls"].as_array().into_iter().flatten().filter_map(id);
    let blocks = message["content"].as_array().into_iter().flatten();
    openai.chain(blocks.filter(|block| block["type"] == "tool_use").filter_map(id)).collect()
}

/// Whether an answer only says that a person has to decide.
fn is_pending(content: &Value) -> bool {
    let begins = |text: &Value| text.as_str().is_some_and(|text| text.starts_with(render::PENDING));
    begins(content) || content.as_array().is_some_and(|blocks| blocks.iter().any(|block| begins(&block["text"])))
}

fn after_openai(messages: &mut Vec<Value>, turn: usize, answer: &Answer) -> bool {
    let first = turn + 1;
    let count = messages[first..].iter().take_while(|message| message["role"] == "tool").count();
    let mut answers = by_id(messages.splice(first..first + count, []).collect(), "tool_call_id");
    let placed = put(&mut answers, &answer.call_id, render::openai(&answer.call_id, &answer.envelope));
    let ordered = in_order(&asked(&messages[turn]), answers);
    messages.splice(first..first, ordered);
    placed
}

/// The answers of a turn are the first blocks of the user's message after it.
fn after_anthropic(messages: &mut Vec<Value>, turn: usize, answer: &Answer) -> bool {
    let first = turn + 1;
    if messages.get(first).is_none_or(|message| message["role"] != "user") {
        messages.insert(first, json!({ "role": "user", "content": [] }));
    }
    let content = match messages[first]["content"].take() {
        Value::Array(blocks) => blocks,
        Value::String(text) => vec![json!({ "type": "text", "text": text })],
        _ => Vec::new(),
    };
    let (results, rest): (Vec<Value>, Vec<Value>) =
        content.into_iter().partition(|block| block["type"] == "tool_result");
    let mut answers = by_id(results, "tool_use_id");
    let placed = put(&mut answers, &answer.call_id, render::anthropic(&answer.call_id, &answer.envelope));
    let mut content = in_order(&asked(&messages[turn]), answers);
    content.extend(rest);
    messages[first]["content"] = content.into();
    placed
}

type ById = BTreeMap<String, Value>;

fn by_id(answers: Vec<Value>, id: &str) -> ById {
    answers.into_iter().map(|answer| (answer[id].as_str().unwrap_or_default().to_owned(), answer)).collect()
}

/// Whether it took its place: there was nothing, or only the word that a person has to decide.
fn put(answers: &mut ById, call_id: &str, answer: Value) -> bool {
    let free = answers.get(call_id).is_none_or(|known| is_pending(&known["content"]));
    if free {
        answers.insert(call_id.to_owned(), answer);
    }
    free
}

fn in_order(asked: &[String], mut answers: ById) -> Vec<Value> {
    let mut ordered: Vec<Value> = asked.iter().filter_map(|id| answers.remove(id)).collect();
    // Answers to what nobody asked were there before; they stay, after the others.
    ordered.extend(answers.into_values());
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::envelope::Metadata;
    use crate::error::{Error, Kind, Step};

    fn answer(call_id: &str, text: &str) -> Answer {
        Answer { call_id: call_id.into(), envelope: Envelope::ok(json!(text), Metadata::default()) }
    }

    fn pending(call_id: &str) -> Answer {
        let error = Error::new(Step::Permission, Kind::ApprovalPending, "a person has to decide");
        Answer { call_id: call_id.into(), envelope: Envelope::error(error, Value::Null, Metadata::default()) }
    }

    fn openai() -> Vec<Value> {
        let call = |id: &str| json!({ "id": id, "type": "function", "function": { "name": "t", "arguments": "{}" } });
        vec![
            json!({ "role": "user", "content": "go" }),
            json!({ "role": "assistant", "content": null, "tool_calls": [call("a"), call("b"), call("c")] }),
            json!({ "role": "user", "content": "and?" }),
        ]
    }

    #[test]
    fn answers_stand_after_their_turn_in_call_order_however_they_come() {
        let mut messages = openai();
        assert_eq!(into(&mut messages, &[answer("c", "3")]), []);
        assert_eq!(into(&mut messages, &[answer("a", "1"), answer("b", "2")]), []);
        let ids: Vec<&Value> = messages.iter().map(|message| &message["tool_call_id"]).collect();
        assert_eq!(ids, [&Value::Null, &Value::Null, &json!("a"), &json!("b"), &json!("c"), &Value::Null]);
    }

    #[test]
    fn an_answer_is_given_once_and_a_late_one_takes_the_place_of_waiting() {
        let mut messages = openai();
        into(&mut messages, &[pending("b")]);
        assert_eq!(into(&mut messages, &[answer("b", "done")]), []);
        assert_eq!(into(&mut messages, &[answer("b", "again")]), [Unplaced::Answered("b".into())]);
        assert_eq!(into(&mut messages, &[answer("x", "")]), [Unplaced::NotAsked("x".into())]);
        assert_eq!((messages.len(), &messages[2]["content"]), (4, &json!("done")));
    }

    #[test]
    fn in_anthropics_lists_answers_are_the_first_blocks_after_the_turn() {
        let call = |id: &str| json!({ "type": "tool_use", "id": id, "name": "t", "input": {} });
        let mut messages = vec![
            json!({ "role": "assistant", "content": [{ "type": "text", "text": "I look" }, call("a"), call("b")] }),
            json!({ "role": "user", "content": "hurry" }),
        ];
        into(&mut messages, &[answer("b", "2"), pending("a")]);
        into(&mut messages, &[answer("a", "1")]);
        let content = messages[1]["content"].as_array().unwrap();
        let ids: Vec<&Value> = content.iter().map(|block| &block["tool_use_id"]).collect();
        assert_eq!(ids, [&json!("a"), &json!("b"), &Value::Null]);
        assert_eq!((messages.len(), &content[0]["content"][0]["text"]), (2, &json!("1")));
        assert_eq!(content[2]["text"], "hurry");
        let mut alone = vec![messages[0].clone()];
        assert_eq!(into(&mut alone, &[answer("a", "1")]), []);
        assert_eq!(alone[1]["role"], "user");
    }
}

//! May a message pass to the protocol library, and which bytes are a tool's arguments? What the library would choke on
//! is answered here, with the request's id where it can be read. Must not know where a message came from.
//!
//! The arguments are cut out of the message before the library parses it: step 4 parses exactly these bytes, once, and
//! answers what is wrong with them. If the rest is JSON with an object in their place and they are an object, then the
//! whole was JSON; so nobody else can have read it differently.

pub(crate) mod scan;

use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorCode, ErrorData, GetExtensions, JsonRpcMessage,
    RequestId,
};
use scan::Scan;
use serde::de::IgnoredAny;
use serde_json::Value;
use std::sync::Arc;

/// Longest message in bytes: the longest arguments that step 4 takes, and as much again for escapes and the frame.
pub(crate) const LONGEST: usize = 32 << 20;
/// Deepest nesting outside a tool's arguments; the library's parser recurses.
const DEPTH: usize = 100;
/// Longest id in bytes. It is kept for as long as the call runs.
const ID: usize = 1024;
/// What stands in for the arguments in what the library parses.
const STAND_IN: &[u8] = b"{}";
/// Methods that have a meaning. With these, params that do not fit are wrong; the method is not.
const METHODS: &[&str] = &[
    "initialize",
    "ping",
    "server/discover",
    "tools/list",
    "tools/call",
    "prompts/list",
    "prompts/get",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "resources/subscribe",
    "resources/unsubscribe",
    "completion/complete",
    "logging/setLevel",
    "subscriptions/listen",
];

/// A tool's arguments as they were sent, byte for byte.
#[derive(Clone, Debug)]
pub(crate) struct RawArguments(pub(crate) Arc<str>);

/// A message that may pass.
#[derive(Debug)]
pub(crate) struct Sifted {
    /// What the library gets. The arguments are in the request's extensions.
    pub(crate) message: ClientJsonRpcMessage,
    /// The same as bytes, without the arguments.
    pub(crate) body: Vec<u8>,
    /// The arguments.
    pub(crate) arguments: Option<RawArguments>,
}

/// What is answered in place of a message.
#[derive(Debug)]
pub(crate) struct Refusal {
    /// The request's id, where it can be read.
    pub(crate) id: Option<RequestId>,
    /// Why.
    pub(crate) error: ErrorData,
}

impl Refusal {
    fn new(id: Option<RequestId>, code: ErrorCode, message: impl Into<String>) -> Refusal {
        Refusal { id, error: ErrorData::new(code, message.into(), None) }
    }
}

/// Reads one message; nothing for an empty line.
///
/// # Errors
/// What to answer to a message that cannot pass: see the table in the crate's documentation.
pub(crate) fn sift(bytes: &[u8]) -> Result<Option<Sifted>, Refusal> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii();
    if bytes.is_empty() {
        return Ok(None);
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        Refusal::new(
            None,
            ErrorCode::PARSE_ERROR,
            format!("no UTF-8 after byte {} of the message", error.valid_up_to()),
        )
    })?;
    let scan = Scan::of(bytes);
    match scan.first {
        Some(b'{') => {}
        Some(b'[') => {
            return Err(Refusal::new(
                None,
                ErrorCode::INVALID_REQUEST,
                "batches are not taken; send one message a line",
            ));
        }
        _ => return Err(Refusal::new(None, ErrorCode::PARSE_ERROR, "the message is no JSON object")),
    }
    let id = id(&scan)?;
    if bytes.len() > LONGEST {
        return Err(too_long(id));
    }
    refuse_ambiguous(&scan, &id)?;
    let (body, arguments) = cut(text, &scan);
    serde_json::from_slice::<IgnoredAny>(&body)
        .map_err(|error| Refusal::new(None, ErrorCode::PARSE_ERROR, format!("the message is no JSON: {error}")))?;
    let parsed: ClientJsonRpcMessage = serde_json::from_slice(&body).map_err(|_| {
        let why = "the message is no JSON-RPC request, notification or answer";
        Refusal::new(id.clone(), ErrorCode::INVALID_REQUEST, why)
    })?;
    let message = with_arguments(parsed, &arguments, id)?;
    Ok(Some(Sifted { message, body, arguments }))
}

/// What is answered to a message that was too long to be kept.
pub(crate) fn refuse_too_long(scan: &Scan) -> Refusal {
    match scan.first {
        Some(b'{') => too_long(id(scan).ok().flatten()),
        _ => Refusal::new(None, ErrorCode::PARSE_ERROR, format!("a message has at most {LONGEST} bytes")),
    }
}

fn too_long(id: Option<RequestId>) -> Refusal {
    Refusal::new(id, ErrorCode::INVALID_REQUEST, format!("a message has at most {LONGEST} bytes"))
}

/// The id as the library will read it: a text or a whole number.
fn id(scan: &Scan) -> Result<Option<RequestId>, Refusal> {
    if !scan.has_id {
        return Ok(None);
    }
    let wrong = |why: &str| Refusal::new(None, ErrorCode::INVALID_REQUEST, format!("the id of a message is {why}"));
    match serde_json::from_slice(&scan.id) {
        Ok(Value::String(text)) if text.len() <= ID => Ok(Some(RequestId::String(text.into()))),
        Ok(Value::String(_)) => Err(wrong(&format!("at most {ID} bytes long"))),
        Ok(Value::Number(number)) => match number.as_i64() {
            Some(number) => Ok(Some(RequestId::Number(number))),
            None => Err(wrong("a text or a whole number of 64 bits")),
        },
        Ok(_) => Err(wrong("a text or a whole number")),
        Err(_) if scan.is_complete => Err(wrong("a text or a whole number")),
        Err(_) => Err(Refusal::new(None, ErrorCode::PARSE_ERROR, "the message ends before it is complete")),
    }
}

fn refuse_ambiguous(scan: &Scan, id: &Option<RequestId>) -> Result<(), Refusal> {
    let refuse = |why: String| Err(Refusal::new(id.clone(), ErrorCode::INVALID_REQUEST, why));
    if scan.has_two_ids {
        return Err(Refusal::new(None, ErrorCode::INVALID_REQUEST, "the message has two ids"));
    }
    if scan.is_ambiguous {
        return refuse("the message has a key twice".into());
    }
    if scan.deepest > DEPTH {
        return refuse(format!("the message is nested deeper than {DEPTH} levels outside a tool's arguments"));
    }
    if scan.has_half {
        return refuse("a text of the message has half of a surrogate pair".into());
    }
    Ok(())
}

/// Cuts the arguments out of a tool call. Those of other requests stay where they are.
fn cut(text: &str, scan: &Scan) -> (Vec<u8>, Option<RawArguments>) {
    let method = scan.method.clone().and_then(|range| serde_json::from_str::<String>(&text[range]).ok());
    match (&scan.arguments, method.as_deref()) {
        (Some(range), Some("tools/call")) => {
            let (before, after) = (&text.as_bytes()[..range.start], &text.as_bytes()[range.end..]);
            let written = &text[range.clone()];
            let arguments = if written == "null" { "{}" } else { written };
            ([before, STAND_IN, after].concat(), Some(RawArguments(arguments.into())))
        }
        _ => (text.as_bytes().to_vec(), None),
    }
}

/// Puts the arguments into the request, and refuses a request whose params do not fit its method.
fn with_arguments(
    mut message: ClientJsonRpcMessage,
    arguments: &Option<RawArguments>,
    id: Option<RequestId>,
) -> Result<ClientJsonRpcMessage, Refusal> {
    let unfit = |method: &str| METHODS.contains(&method);
    match &mut message {
        JsonRpcMessage::Request(request) => match &mut request.request {
            ClientRequest::CustomRequest(custom) if unfit(&custom.method) => {
                let why = format!("the params of `{}` are not what it takes", custom.method);
                return Err(Refusal::new(id, ErrorCode::INVALID_PARAMS, why));
            }
            call => {
                if let Some(arguments) = arguments {
                    call.extensions_mut().insert(arguments.clone());
                }
            }
        },
        JsonRpcMessage::Notification(notification) => {
            if let ClientNotification::CustomNotification(custom) = &notification.notification {
                tracing::debug!(method = %custom.method, "a notification that nobody knows");
            }
        }
        JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
    }
    Ok(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(bytes: &[u8]) -> (i32, Option<RequestId>) {
        let refusal = sift(bytes).unwrap_err();
        (refusal.error.code.0, refusal.id)
    }

    fn call(id: &str, arguments: &str) -> String {
        format!(
            r#"{{"jsonrpc":"2.0","method":"tools/call","params":{{"name":"x","arguments":{arguments}}},"id":{id}}}"#
        )
    }

    #[test]
    fn arguments_pass_as_they_are_whatever_is_in_them() {
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        for arguments in [r#"{"a":1,"a":2}"#, r#"{"a":"\ud83d"}"#, r#"{"a":tru}"#, "[1]", &deep] {
            let sifted = sift(call("1", arguments).as_bytes()).unwrap().unwrap();
            assert_eq!(&*sifted.arguments.unwrap().0, arguments);
            assert!(matches!(sifted.message, JsonRpcMessage::Request(_)));
        }
    }

    #[test]
    fn what_cannot_be_read_is_a_parse_error_without_an_id() {
        for bytes in
            [b"not json".as_slice(), b"{\"id\":1,", b"{\"id\":1,\"method\":\"pi\xff\"}", b"\"text\"", b"{\"id\":1} x"]
        {
            assert_eq!(refused(bytes), (-32700, None), "{}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn odd_ids_have_one_answer_each() {
        for id in ["null", "1.5", "[1]", "true", "99999999999999999999", "\"\\ud83d\""] {
            assert_eq!(refused(call(id, "{}").as_bytes()), (-32600, None), "{id}");
        }
        assert_eq!(refused(call(&format!("\"{}\"", "x".repeat(2000)), "{}").as_bytes()), (-32600, None));
        assert!(sift(call("\"a\"", "{}").as_bytes()).is_ok());
    }

    #[test]
    fn what_is_readable_is_answered_with_its_id() {
        let seven = Some(RequestId::Number(7));
        let deep = format!(r#"{{"id":7,"method":"ping","params":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(refused(deep.as_bytes()), (-32600, seven.clone()));
        assert_eq!(refused(br#"{"jsonrpc":"2.0","id":7,"method":"p\ud83d"}"#), (-32600, seven.clone()));
        assert_eq!(refused(br#"{"jsonrpc":"2.0","id":7}"#), (-32600, seven.clone()));
        assert_eq!(refused(br#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":1}}"#), (-32602, seven));
        assert_eq!(refused(br#"{"jsonrpc":"2.0","id":7,"id":8,"method":"ping"}"#), (-32600, None));
        assert_eq!(refused(br#"[{"jsonrpc":"2.0","id":7,"method":"ping"}]"#), (-32600, None));
    }

    #[test]
    fn a_message_too_long_to_keep_is_answered_with_its_id() {
        let mut scan = Scan::default();
        scan.feed(call("9", &format!("{{\"a\":\"{}\"}}", "x".repeat(1000))).as_bytes());
        assert_eq!(refuse_too_long(&scan).id, Some(RequestId::Number(9)));
    }

    #[test]
    fn a_byte_order_mark_and_blank_lines_do_no_harm() {
        assert!(sift(b"\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}").unwrap().is_some());
        assert!(sift(b" \r").unwrap().is_none());
    }
}

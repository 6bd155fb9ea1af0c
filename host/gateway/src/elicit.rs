//! May the person at an agent's own client decide a call that waits? Only where the operator's configuration names the
//! client: the answer comes over the agent's own connection. Both eras: in the newer one the question is the answer to the
//! call, and its sealed state holds for the same caller, tool and arguments only. Never for what is critical, and never
//! where the client cannot be shown all of it; what no approval can lift does not come this far.

use crate::server::Server;
use hermes_runtime::Envelope;
use hermes_runtime::call::Digest;
use hermes_runtime::document::printable;
use hermes_runtime::error::Kind;
use hermes_runtime::permission::approval::desk;
use hermes_runtime::permission::approval::store::{Parked, Scope, State, Verdict};
use hermes_runtime::registry::manifest::RiskLevel;
use rmcp::model::{
    CallToolRequestParams, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, InputRequest,
    InputRequests, InputRequiredResult, ProtocolVersion, RequestStateCodec, SealOptions,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// Longest question, in bytes. A form of a client shows no more than a person reads.
const QUESTION: usize = 16 << 10;
/// How often it is looked whether somebody else has answered.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// The name of the one question of a call.
const NAME: &str = "approval";
/// The field of the form, and its answers.
const FIELD: &str = "decision";
const YES: &str = "run it once";
const NO: &str = "do not run it";

/// What seals the state of questions in the newer era. Lifetime: the process, so that no state outlives it.
#[derive(Clone)]
pub(crate) struct Sealing(Option<Arc<RequestStateCodec>>);

impl Sealing {
    /// Without random bytes nobody is asked.
    pub(crate) fn new() -> Sealing {
        let mut key = [0; 32];
        let read = rustix::rand::getrandom(&mut key, rustix::rand::GetRandomFlags::empty());
        let codec = (read == Ok(key.len())).then(|| RequestStateCodec::try_new(key).ok()).flatten();
        Sealing(codec.map(Arc::new))
    }
}

/// Whether the client of a request is one whose person may decide, and can be asked.
pub(crate) fn may_ask(server: &Server, context: &RequestContext<RoleServer>) -> bool {
    let named = &server.runtime().config().approval.clients;
    if named.is_empty() || server.sealing().0.is_none() {
        return false;
    }
    // Over HTTP a token says who it is; what a client calls itself counts only where this user has started it.
    let name = match context.extensions.get::<http::request::Parts>() {
        Some(_) => Some(server.identity().caller.id.clone()),
        None => context.client_info().map(|client| client.name),
    };
    let asks_by_form = context.client_capabilities().and_then(|can| can.elicitation).is_some_and(|can| {
        // A client that says nothing more means forms.
        can.form.is_some() || can.url.is_none()
    });
    asks_by_form && name.is_some_and(|name| named.contains(&name))
}

/// Whether the question has to be the answer, because servers may not ask by themselves.
pub(crate) fn is_newer(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

/// The request that a call waits for, if the client may be asked about it.
pub(crate) async fn askable(server: &Server, envelope: &Envelope) -> Option<Parked> {
    let error = envelope.error.as_ref().filter(|error| error.kind == Kind::ApprovalPending)?;
    let parked = desk::find(server.runtime().journal(), error.approval_id.as_deref()?).await.ok()?;
    let toolbox = server.runtime().toolbox();
    let tool = toolbox.registry.tools().find(|tool| *tool.name == *parked.request.tool)?;
    let fits = question(&parked).len() <= QUESTION;
    (tool.risk_level != RiskLevel::Critical && fits && parked.request.caller == server.identity().caller.id)
        .then_some(parked)
}

/// Asks over the connection, while others may answer too. When it returns, the call can be made again.
pub(crate) async fn ask(
    server: &Server,
    parked: &Parked,
    context: &RequestContext<RoleServer>,
) -> Result<(), ErrorData> {
    let Some(params) = form(parked) else { return Ok(()) };
    let left = Duration::from_secs(server.runtime().config().approval.expires_seconds);
    let asking = context.peer.create_elicitation_with_timeout(params, Some(left));
    let decided = async {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            match desk::find(server.runtime().journal(), &parked.id).await {
                Ok(now) if now.state_at(crate::now_ms()) == State::Pending => {}
                Ok(_) | Err(_) => return,
            }
        }
    };
    tokio::select! {
        biased;
        () = context.ct.cancelled() => Ok(()),
        answer = asking => match answer {
            Ok(answer) => decide(server, parked, &answer, context).await,
            Err(error) => {
                tracing::warn!(%error, "the client was not asked");
                Ok(())
            }
        },
        () = decided => Ok(()),
    }
}

/// The answer to a call that asks its client, with what has to come back with the client's answer.
pub(crate) fn as_answer(
    server: &Server,
    parked: &Parked,
    request: &CallToolRequestParams,
    arguments: &str,
) -> Option<InputRequiredResult> {
    let codec = server.sealing().0.as_ref()?;
    let until = Duration::from_millis(parked.expires_ms.saturating_sub(crate::now_ms()));
    let bound = bound(server, request, arguments);
    let state = codec.seal_with(parked.id.as_bytes(), &SealOptions::new().associated_data(bound.bytes()).ttl(until));
    let question = InputRequest::Elicitation(ElicitRequest::new(form(parked)?));
    Some(InputRequiredResult::new(Some(InputRequests::from([(NAME.to_owned(), question)])), Some(state)))
}

/// Takes the client's answer that comes with a call made again. A state of another caller, tool or arguments is none.
///
/// # Errors
/// For a state that is not one of ours, or not for this call.
pub(crate) async fn take(
    server: &Server,
    request: &CallToolRequestParams,
    arguments: &str,
    context: &RequestContext<RoleServer>,
) -> Result<(), ErrorData> {
    let Some(state) = &request.request_state else { return Ok(()) };
    let codec = server.sealing().0.as_ref();
    let opened = codec.and_then(|codec| codec.open_with(state, bound(server, request, arguments).bytes()).ok());
    let wrong = || ErrorData::invalid_params("the request state is none for this call", None);
    let id = opened.and_then(|id| String::from_utf8(id).ok()).ok_or_else(wrong)?;
    let answers = request.input_responses.as_ref();
    let answer = answers.and_then(|answers| serde_json::from_value::<ElicitResult>(answers.get(NAME)?.clone()).ok());
    let Some(answer) = answer else { return Ok(()) };
    let parked = desk::find(server.runtime().journal(), &id).await.map_err(|_| wrong())?;
    decide(server, &parked, &answer, context).await
}

/// To what a state is bound: the caller, the tool and the arguments as they were sent.
fn bound(server: &Server, request: &CallToolRequestParams, arguments: &str) -> Digest {
    let caller = &server.identity().caller;
    let parts = [caller.id.as_str(), caller.role.as_str(), &request.name, arguments];
    Digest::of_parts(parts.iter().map(|part| part.as_bytes()))
}

/// Writes down what the client's person said. That somebody else was first is no failure.
async fn decide(
    server: &Server,
    parked: &Parked,
    answer: &ElicitResult,
    context: &RequestContext<RoleServer>,
) -> Result<(), ErrorData> {
    let Some(verdict) = verdict(answer) else { return Ok(()) };
    let name = context.client_info().map(|client| client.name).unwrap_or_default();
    let by = format!("client {} of {}", printable(&name), server.identity().caller.id);
    let redeem = server.runtime().config().approval.expires_seconds;
    match desk::decide(server.runtime().journal(), parked, verdict, &by, redeem).await {
        Err(error) if error.kind != Kind::Conflict => Err(ErrorData::internal_error(error.to_string(), None)),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Only a plain yes is one; who closes the form has said nothing.
fn verdict(answer: &ElicitResult) -> Option<Verdict> {
    let said = answer.content.as_ref().and_then(|content| content.get(FIELD)).and_then(Value::as_str);
    match (&answer.action, said) {
        (ElicitationAction::Accept, Some(YES)) => Some(Verdict::Approve(Scope::Once)),
        (ElicitationAction::Accept, _) | (ElicitationAction::Decline, _) => Some(Verdict::Deny { reason: None }),
        _ => None,
    }
}

fn form(parked: &Parked) -> Option<ElicitRequestParams> {
    let field = json!({ "type": "string", "title": "Decision", "enum": [YES, NO] });
    let schema = json!({ "type": "object", "properties": { FIELD: field }, "required": [FIELD] });
    let form = json!({ "mode": "form", "message": question(parked), "requestedSchema": schema });
    serde_json::from_value(form).ok()
}

/// The whole request in words, every part printable.
fn question(parked: &Parked) -> String {
    let request = &parked.request;
    let mut lines = vec![
        format!("An agent wants to run `{}`: {}", request.tool, request.description),
        format!("as {} for {}", request.role, request.situation),
    ];
    lines.extend(request.effect.iter().map(|effect| format!("effect: {effect}")));
    lines.push(format!("arguments: {}", request.args));
    lines.push(format!("why it is asked: {}", request.why));
    lines.push(format!("risk: {} of 100", request.risk));
    lines.extend(request.factors.iter().map(|factor| format!("  {factor}")));
    lines.extend(request.similar.iter().map(|similar| format!("before: {similar}")));
    lines.push(format!("it can be decided for {} s", request.expires.as_secs()));
    lines.iter().map(|line| printable(line)).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_yes_is_one_and_closing_the_form_says_nothing() {
        let said = |action: &str, content: Value| {
            let answer = serde_json::from_value(json!({ "action": action, "content": content })).unwrap();
            verdict(&answer)
        };
        let no = Some(Verdict::Deny { reason: None });
        assert_eq!(said("accept", json!({ FIELD: YES })), Some(Verdict::Approve(Scope::Once)));
        assert_eq!(said("accept", json!({ FIELD: NO })), no);
        assert_eq!(said("accept", json!({ FIELD: true })), no);
        assert_eq!(said("accept", json!({})), no);
        assert_eq!(said("decline", json!({ FIELD: YES })), no);
        assert_eq!(said("cancel", json!({ FIELD: YES })), None);
    }
}

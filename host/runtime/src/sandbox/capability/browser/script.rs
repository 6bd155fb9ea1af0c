//! What does a function return that is called in a document? Turns the browser's answer into JSON.

use super::act::numbered;
use super::page::{LONG, Open, in_element};
use super::{Failure, Reason, Tabs, failure, wit};
use chromiumoxide::cdp::browser_protocol::dom::ResolveNodeParams;
use chromiumoxide::cdp::browser_protocol::page::{CreateIsolatedWorldParams, FrameId};
use chromiumoxide::cdp::js_protocol::runtime::{
    CallArgument, CallFunctionOnParams, ExecutionContextId, ReleaseObjectParams, RemoteObjectId,
};
use serde_json::Value;

/// Longest value that a script returns, in bytes.
const RETURNED: usize = 4 << 20;
/// The realm beside the page's.
const APART: &str = "hermes";

impl Tabs {
    pub(super) async fn evaluate(
        &mut self,
        id: u32,
        document: u32,
        element: Option<u64>,
        realm: wit::Realm,
        function: String,
        arguments: String,
    ) -> Result<String, Failure> {
        let arguments: Vec<Value> = serde_json::from_str(&arguments)
            .map_err(|_| failure(Reason::InvalidArgument, "the arguments are no JSON array"))?;
        let argument = |value| CallArgument { value: Some(value), unserializable_value: None, object_id: None };
        let open = self.at(id).await?;
        let (session, frame) = self.place(id, document).await?;
        let context = self.realm(&open, id, &session, &frame, realm).await?;
        let object = match element {
            Some(element) => Some(object_of(&open, &session, element, context).await?),
            None => None,
        };
        let asked = CallFunctionOnParams {
            object_id: object.clone(),
            // Each excludes the other.
            execution_context_id: object.is_none().then(|| ExecutionContextId::new(context)),
            arguments: Some(arguments.into_iter().map(argument).collect()),
            return_by_value: Some(true),
            await_promise: Some(true),
            user_gesture: Some(realm == wit::Realm::Page),
            ..CallFunctionOnParams::new(function)
        };
        let answer = open.ask_in(&session, asked, LONG).await;
        if let Some(object) = object {
            open.speaker.tell(Some(&session), ReleaseObjectParams::new(object));
        }
        let answer = match answer {
            Err(late) if late.reason == Reason::TimedOut => {
                return Err(failure(Reason::TimedOut, "the script did not end in time"));
            }
            answer => answer.map_err(gone)?,
        };
        if let Some(thrown) = answer.exception_details {
            let exception = thrown.exception;
            let described = exception.as_ref().and_then(|exception| exception.description.clone());
            let value = exception.and_then(|exception| exception.value);
            let why = described.or(value.map(|value| value.to_string())).unwrap_or(thrown.text);
            return Err(failure(Reason::ScriptFailed, crate::document::excerpt(&why, 2000)));
        }
        let result = answer.result;
        // Numbers that JSON has no word for are told as their names.
        let unserializable = result.unserializable_value.map(|value| Value::from(String::from(value)));
        let value = result.value.or(unserializable).unwrap_or_default().to_string();
        match value.len() > RETURNED {
            true => Err(failure(
                Reason::TooLarge,
                format!("the script returned {} bytes, more than {RETURNED}", value.len()),
            )),
            false => Ok(value),
        }
    }

    /// Where a document's scripts run, or those of ours beside them.
    async fn realm(
        &mut self,
        open: &Open,
        id: u32,
        session: &str,
        frame: &str,
        realm: wit::Realm,
    ) -> Result<i64, Failure> {
        let key = (session.to_owned(), frame.to_owned(), realm == wit::Realm::Page);
        if let Some(known) = self.tab(id, |tab| tab.realms.get(&key).copied()).await? {
            return Ok(known);
        }
        if realm == wit::Realm::Page {
            return Err(failure(Reason::Gone, "the document runs no scripts"));
        }
        let world = CreateIsolatedWorldParams {
            world_name: Some(APART.into()),
            ..CreateIsolatedWorldParams::new(FrameId::new(frame))
        };
        let made = open.ask_in(session, world, LONG).await.map_err(gone)?;
        let context = *made.execution_context_id.inner();
        self.tab(id, |tab| tab.realms.insert(key, context)).await?;
        Ok(context)
    }
}

fn gone(error: Failure) -> Failure {
    let words = ["Cannot find context", "Execution context was destroyed", "No frame", "Inspected target navigated"];
    match error.reason == Reason::Refused && words.iter().any(|word| error.message.contains(word)) {
        true => failure(Reason::Gone, "the page has changed meanwhile"),
        false => in_element(error),
    }
}

async fn object_of(open: &Open, session: &str, element: u64, context: i64) -> Result<RemoteObjectId, Failure> {
    let asked = ResolveNodeParams {
        backend_node_id: numbered(element),
        execution_context_id: Some(ExecutionContextId::new(context)),
        ..ResolveNodeParams::default()
    };
    let found = open.ask_in(session, asked, LONG).await.map_err(in_element)?;
    found.object.object_id.ok_or_else(|| failure(Reason::Gone, "the element is not there any more"))
}

//! What became of a question that a caller asked? The runtime's own tool for agents: it shows a caller its own questions and
//! decides nothing.

use super::store;
use crate::error::{Error, Kind, Step};
use crate::journal::{Journal, now_ms};
use serde_json::{Value, json};

/// The tool's manifest.
pub(crate) const STATUS: &str = r#"
[tool]
name = "approval_status"
version = "1.0.0"
description = "What became of a call of yours that waits for a person: pending, approved, denied with the reason, expired or used. It runs nothing: after a yes, make the same call again."
category = "runtime"
[[tool.inputs]]
name = "approval_id"
type = "string"
required = true
description = "The `approval_id` of the answer that said so"
validation = { pattern = "^[0-9A-Z]{26}$" }
[[tool.outputs]]
name = "state"
type = "string"
description = "pending, approved, denied, used, expired, void or forgotten"
[tool.permissions]
risk_level = "low"
[tool.effect]
kind = "read"
open_world = false
[tool.backend]
type = "runtime"
adapter = "runtime"
"#;

/// Answers a call of the tool.
///
/// # Errors
/// `invalid_input` for a question that is not the caller's, or of nobody.
pub(crate) async fn answer(journal: &Journal, caller: &str, args: &Value) -> Result<Value, Error> {
    let id = args.get("approval_id").and_then(Value::as_str).unwrap_or_default().to_owned();
    let found = journal.read(move |connection| store::by_id(connection, &id)).await?;
    // Whether somebody else asked is nobody's business.
    let parked = found
        .filter(|parked| parked.request.caller == caller)
        .ok_or_else(|| Error::new(Step::Sandbox, Kind::InvalidInput, "you asked no question of that id"))?;
    let now = now_ms();
    let state = parked.state_at(now);
    let left = (state == store::State::Pending).then(|| parked.expires_ms.saturating_sub(now) / 1000);
    Ok(json!({
        "approval_id": parked.id, "tool": parked.request.tool, "state": state.name(), "seconds_left": left,
        "reason": parked.reason,
    }))
}

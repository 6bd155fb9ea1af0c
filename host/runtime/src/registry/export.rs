//! How are tools described to a model elsewhere? As OpenAI's and Anthropic's lists of functions and as MCP's tools. Pure;
//! must not know who asks.

use super::Tool;
use super::manifest::{Effect, InputType, OutputField};
use serde_json::{Map, Value, json};

/// Whose words a list of tools is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Functions of OpenAI's chat completions.
    OpenAi,
    /// Tools of Anthropic's messages.
    Anthropic,
    /// Tools of the Model Context Protocol.
    Mcp,
}

/// One tool in a form.
///
/// # Errors
/// Why the form cannot have it.
pub fn tool(tool: &Tool, form: Form) -> Result<Value, String> {
    let description = tool.description.trim();
    // Both providers refuse a whole list for one name with a dot in it.
    if form != Form::Mcp && tool.name.contains('.') {
        return Err(format!("`{}` has a dot in its name, which this form does not take", tool.name));
    }
    Ok(match form {
        Form::OpenAi => json!({
            "type": "function",
            "function": { "name": &*tool.name, "description": description, "parameters": input(tool) },
        }),
        Form::Anthropic => json!({ "name": &*tool.name, "description": description, "input_schema": input(tool) }),
        Form::Mcp => {
            let mut described = json!({
                "name": &*tool.name, "description": description, "inputSchema": input(tool),
            });
            if let Some(output) = output(&tool.outputs) {
                described["outputSchema"] = output;
            }
            described["annotations"] = json!({
                "readOnlyHint": tool.effect.kind == Effect::Read,
                "destructiveHint": tool.effect.kind == Effect::Destructive,
                "idempotentHint": tool.effect.idempotent || tool.effect.kind == Effect::Read,
                "openWorldHint": tool.effect.open_world,
            });
            described
        }
    })
}

/// The input schema. All three want the type to be said, which a manifest's own schema may leave out.
pub fn input(tool: &Tool) -> Value {
    let mut schema = match tool.input.json() {
        Value::Object(schema) => schema.clone(),
        _ => Map::new(),
    };
    schema.entry("type").or_insert_with(|| "object".into());
    Value::Object(schema)
}

/// The schema of the facts. Nothing is required: a client would drop a whole result for one fact that is missing.
pub fn output(outputs: &[OutputField]) -> Option<Value> {
    if outputs.is_empty() {
        return None;
    }
    let property = |field: &OutputField| {
        let mut property = json!({ "type": type_name(field.type_) });
        if let Some(description) = &field.description {
            property["description"] = description.as_str().into();
        }
        (field.name.clone(), property)
    };
    let properties: Map<String, Value> = outputs.iter().map(property).collect();
    Some(json!({ "type": "object", "properties": properties }))
}

fn type_name(type_: InputType) -> &'static str {
    match type_ {
        InputType::String | InputType::Enum => "string",
        InputType::Integer => "integer",
        InputType::Number => "number",
        InputType::Boolean => "boolean",
        InputType::Array => "array",
        InputType::Object => "object",
    }
}

//! Which texts does a format of a manifest take? Those of JSON Schema come with the validator; these are our own.

use jsonschema::ValidationOptions;

/// Adds the formats.
pub(super) fn add(options: ValidationOptions<'_>) -> ValidationOptions<'_> {
    options
        .with_format("name", is_name)
        .with_format("host", |text: &str| url::Host::parse(text).is_ok())
        .with_format("url", |text: &str| url::Url::parse(text).is_ok())
        .with_format("command", |text: &str| !text.trim().is_empty())
}

/// A word for one thing, which is no path to it.
fn is_name(text: &str) -> bool {
    !text.trim().is_empty() && text.trim() == text && !text.contains(['/', '\\']) && !matches!(text, "." | "..")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn formats_take_what_they_are_named_for() {
        let check = |format: &str, text: &str, expect: bool| {
            let schema = json!({ "format": format });
            let options = jsonschema::options().should_validate_formats(true);
            let validator = super::add(options).build(&schema).unwrap();
            assert_eq!(validator.is_valid(&json!(text)), expect, "{format} {text}");
        };
        check("name", "user profiles", true);
        check("name", "../x", false);
        check("name", " x", false);
        check("host", "example.com", true);
        check("host", "[::1]", true);
        check("host", "a b", false);
        check("url", "https://example.com/a", true);
        check("url", "example.com", false);
        check("command", " ", false);
        check("date", "2026-02-30", false);
        check("date-time", "2026-02-03T04:05:06Z", true);
        check("uuid", "x", false);
        check("email", "a@b.example", true);
        check("ipv4", "256.0.0.1", false);
    }
}

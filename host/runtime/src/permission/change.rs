//! What would a call change in the file that it acts on? The lines before and after, as far as the manifest says which
//! argument holds them. Pure: what the file has now is handed in.

use crate::call::{Digest, Judged};
use crate::registry::Tool;
use crate::registry::manifest::Change;
use serde_json::Value;
use std::pin::Pin;
use std::time::Duration;

/// How long the lines of two texts are compared; after it the difference is right and not the smallest.
const COMPARING: Duration = Duration::from_millis(500);
/// Lines shown around each change.
const AROUND: usize = 3;

/// What a file has now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Glance {
    /// Its digest; that of nothing where there is no file.
    pub(crate) digest: Digest,
    /// Its text, unless it is none or too long to compare.
    pub(crate) text: Option<String>,
    /// Its size in bytes, if it is there.
    pub(crate) size: Option<u64>,
}

/// Looks at a file by its virtual path.
pub(crate) type Look<'a> = dyn Fn(&str) -> Pin<Box<dyn Future<Output = Glance> + Send + 'a>> + Send + Sync + 'a;

/// What this call changes, and in which file.
pub(super) fn declared<'a>(tool: &'a Tool, judged: &'a Judged) -> Option<(&'a Change, &'a str)> {
    let argument = |name: &str| judged.value.get(name).and_then(Value::as_str);
    tool.targets.iter().find_map(|target| {
        let is_it = |change: &&Change| change.when.iter().all(|(name, value)| argument(name) == Some(value));
        Some((target.changes.iter().find(is_it)?, argument(&target.argument)?))
    })
}

/// The change as a person reads it: what is taken away and what comes.
pub(super) fn lines(change: &Change, path: &str, judged: &Judged, now: &Glance) -> Vec<String> {
    let argument = |name: &Option<String>| {
        let name = name.as_ref()?;
        judged.value.get(name).and_then(Value::as_str)
    };
    let before = now.text.as_deref();
    if let Some(old) = argument(&change.old) {
        let new = argument(&change.new).unwrap_or_default();
        let times = before.map_or("wherever it stands".into(), |text| match text.matches(old).count() {
            1 => "where it stands".to_owned(),
            count => format!("where it stands {count} times"),
        });
        return vec![format!("replaces in {path}, {times}:\n{}", difference(old, new))];
    }
    let after = match (argument(&change.whole), argument(&change.end), before) {
        (Some(whole), _, _) => whole.to_owned(),
        (None, Some(end), Some(before)) => format!("{before}{end}"),
        (None, Some(end), None) => return vec![format!("puts at the end of {path}:\n{}", difference("", end))],
        (None, None, _) => return Vec::new(),
    };
    match (before, now.size) {
        (Some(before), _) if before == after => vec![format!("leaves {path} as it is")],
        (Some(before), _) => vec![format!("changes {path}:\n{}", difference(before, &after))],
        (None, Some(size)) => {
            vec![format!("replaces all {size} bytes of {path}, which cannot be compared line by line")]
        }
        (None, None) => vec![format!("makes {path}, {} bytes", after.len())],
    }
}

fn difference(before: &str, after: &str) -> String {
    let compared = similar::TextDiff::configure().timeout(COMPARING).diff_lines(before, after);
    compared.unified_diff().context_radius(AROUND).to_string().trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::sync::Arc;

    fn judged(args: Value) -> Judged {
        let canonical = args.to_string();
        Judged {
            value: Arc::new(args),
            digest: Digest::of(canonical.as_bytes()),
            canonical: canonical.into(),
            repairs: Vec::new().into(),
            timeout: None,
        }
    }

    fn glance(text: Option<&str>) -> Glance {
        let bytes = text.unwrap_or_default();
        Glance {
            digest: Digest::of(bytes.as_bytes()),
            text: text.map(str::to_owned),
            size: text.map(|text| text.len() as u64),
        }
    }

    fn shown(change: Change, args: Value, now: Option<&str>) -> String {
        lines(&change, "/w/a", &judged(args), &glance(now)).join("\n")
    }

    fn whole() -> Change {
        Change { when: Default::default(), whole: Some("c".into()), end: None, old: None, new: None }
    }

    #[test]
    fn what_goes_and_what_comes_is_shown_line_by_line() {
        let text = shown(whole(), json!({ "c": "one\n2\nthree\n" }), Some("one\ntwo\nthree\n"));
        assert!(text.contains("\n-two\n+2\n"), "{text}");
        assert!(text.contains("\n one\n"), "{text}");
        let end = Change { whole: None, end: Some("c".into()), ..whole() };
        let text = shown(end, json!({ "c": "last\n" }), Some("one\n"));
        assert!(text.contains("+last") && !text.contains("-one"), "{text}");
        let replace = Change { whole: None, old: Some("a".into()), new: Some("b".into()), ..whole() };
        let text = shown(replace, json!({ "a": "x", "b": "y" }), Some("x x"));
        assert!(text.contains("2 times") && text.contains("-x") && text.contains("+y"), "{text}");
    }

    #[test]
    fn what_cannot_be_compared_is_said() {
        assert_eq!(shown(whole(), json!({ "c": "new" }), None), "makes /w/a, 3 bytes");
        let binary = Glance { digest: Digest::of(b"x"), text: None, size: Some(9) };
        let text = lines(&whole(), "/w/a", &judged(json!({ "c": "new" })), &binary).join("");
        assert!(text.starts_with("replaces all 9 bytes of /w/a"), "{text}");
        assert_eq!(shown(whole(), json!({ "c": "same" }), Some("same")), "leaves /w/a as it is");
    }
}

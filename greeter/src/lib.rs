//! What does this plugin do? One function a tool.

use hermes_sdk::{Call, Files, Result, plugin, tool};
use serde::Serialize;

/// Largest file that is read, in bytes.
const LARGEST: u64 = 8 << 20;

/// What a file has.
#[derive(Debug, PartialEq, Serialize)]
struct Counts {
    lines: usize,
    words: usize,
    bytes: usize,
}

/// Count the lines, words and bytes of a text file.
#[tool]
fn count(
    /// The file, for example notes.txt.
    #[arg(max_length = 4096)]
    path: String,
    files: &Files,
    call: &Call,
) -> Result<Counts> {
    let text = files.read_text(&path, LARGEST)?;
    call.progress(1, Some(1), "counted");
    Ok(Counts { lines: text.lines().count(), words: text.split_whitespace().count(), bytes: text.len() })
}

plugin! { name: "greeter", tools: [count] }

#[cfg(test)]
mod tests {
    use super::*;
    use hermes_sdk::native::World;

    #[test]
    fn words_are_counted() {
        let world = World::new().file("/workspace/a.txt", "one two\nthree\n");
        let (counts, _) = world.run(|| count("/workspace/a.txt".into(), &Files::for_test(), &Call::for_test()));
        assert_eq!(counts.unwrap(), Counts { lines: 2, words: 3, bytes: 14 });
    }

    #[test]
    fn what_is_no_text_is_a_failure_with_a_reason() {
        let world = World::new().file("/workspace/a", [0xff, 0xfe]);
        let (counts, _) = world.run(|| count("/workspace/a".into(), &Files::for_test(), &Call::for_test()));
        assert_eq!(counts.unwrap_err().reason.as_deref(), Some("not_text"));
    }
}

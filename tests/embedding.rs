//! How much does a program need to embed the runtime? Twenty lines of the public interface.

use crate::support::block_on;
use crate::support::house::House;

mod program {
    use hermes_runtime::config::{Access, Config};
    use hermes_runtime::{Call, Runtime};
    use serde_json::json;
    use std::path::Path;

    pub(super) async fn main(folder: &Path, plugins: &Path) -> Result<String, Box<dyn std::error::Error>> {
        let config = Config::new(folder.join("state"), folder.join("cache"))
            .grant("workspace", folder.join("workspace"), Access::ReadWrite)
            .plugin(plugins)
            .helper(env!("CARGO_BIN_EXE_hermes-test-helper"));
        let runtime = Runtime::start(config, &[], None)?;
        let call = Call::new("file_read", json!({ "path": "hello.txt" })).role("Builder");
        let envelope = runtime.call(call).await.envelope;
        match envelope.error {
            None => Ok(envelope.data["text"].to_string()),
            Some(error) => Err(error.into()),
        }
    }
}

#[test]
fn twenty_lines_embed_the_runtime() {
    let source = include_str!("embedding.rs");
    let program = source.split_once("mod program {").unwrap().1.split_once("\n}\n").unwrap().0;
    let lines = program.lines().filter(|line| !line.trim().is_empty()).count();
    assert!(lines <= 20, "{lines} lines");

    let house = House::with_files();
    house.write("hello.txt", "hello");
    let text = block_on(program::main(house.root(), &house.path("plugins")));
    assert_eq!(text.unwrap(), "\"hello\"");
}

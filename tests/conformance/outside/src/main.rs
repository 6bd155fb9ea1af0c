//! Does the library compile for a stranger who wants none of its features? Checked by `./just conformance`.

use hermes_runtime::{Call, Config, Runtime};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    hermes_runtime::helper_main();
    let state = std::env::temp_dir().join("outside");
    let runtime = Runtime::start(Config::new(state.join("state"), state.join("cache")), &[], None)?;
    let call = Call::new("none", serde_json::json!({})).role("nobody");
    let envelope = tokio::runtime::Runtime::new()?.block_on(runtime.call(call)).envelope;
    assert_eq!(envelope.error.map(|error| error.kind), Some(hermes_runtime::Kind::UnknownTool));
    Ok(())
}

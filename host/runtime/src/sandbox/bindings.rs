//! The contract in Rust: what `wit/` generates. Nothing here is written by hand.

wasmtime::component::bindgen!({
    path: "../../wit",
    inline: "
        package hermes:host;
        world every {
            include hermes:tool/file-tool@0.1.0;
            include hermes:tool/process-tool@0.1.0;
            include hermes:tool/http-tool@0.1.0;
            include hermes:tool/mcp-tool@0.1.0;
            include hermes:tool/browser-tool@0.1.0;
            include hermes:tool/invoking-tool@0.1.0;
        }
    ",
    world: "hermes:host/every",
    imports: {
        "hermes:tool/log": trappable,
        "hermes:tool/progress.report": trappable,
        "hermes:tool/progress.cancelled": trappable,
        "hermes:tool/secrets": trappable,
        "hermes:tool/invoke.granted": trappable,
        "hermes:tool/files.grants": trappable,
        "hermes:tool/files.[method]reader.size": trappable,
        "hermes:tool/files.[drop]reader": trappable,
        default: async | trappable,
    },
    exports: { default: async },
    additional_derives: [serde::Serialize, serde::Deserialize],
    with: {
        "hermes:tool/files.reader": crate::sandbox::capability::files::Reader,
        "hermes:tool/process.child": crate::sandbox::capability::process::Child,
    },
});

//! The custom adapter: tools that nobody but their author knows. `json_query` shows a pure computation without any
//! capability, `http_get` and `http_send` calls of an API with a credential that only the host holds.
//!
//! This file names the tools.

mod http_call;
mod query;
mod value;

hermes_sdk::plugin! {
    name: "custom",
    tools: [= query::tool(), http_call::http_get, http_call::http_send],
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    #[test]
    fn schemas_are_those_of_the_manifests() {
        let manifests = [
            include_str!("../tools/json_query.toml"),
            include_str!("../tools/http_get.toml"),
            include_str!("../tools/http_send.toml"),
        ];
        for (manifest, tool) in manifests.into_iter().zip(crate::plugin().tools) {
            let manifest: toml::Table = toml::from_str(manifest).unwrap();
            let declared = serde_json::to_value(&manifest["tool"]["input_schema"]).unwrap();
            let described: Value = tool.schema();
            assert_eq!(declared, described, "{} should have:\n{described:#}", tool.name);
        }
    }
}

//! Does a client's configuration get its entry, and keep the rest?

use super::peer;
use crate::support::user::User;
use serde_json::Value;

fn text(user: &User, file: &str) -> String {
    std::fs::read_to_string(user.path(file)).unwrap()
}

#[test]
fn each_client_gets_an_entry_that_names_the_workspace_and_keeps_what_it_had() {
    let user = peer::builder();
    std::fs::create_dir(user.path("home/.cursor")).unwrap();
    std::fs::write(user.path("home/.cursor/mcp.json"), "{\n  // mine\n  \"mcpServers\": {}\n}\n").unwrap();
    std::fs::create_dir(user.path("home/.gemini")).unwrap();
    std::fs::write(user.path("home/.gemini/settings.json"), "{\n  \"theme\": \"Dark\" // mine\n}\n").unwrap();
    for client in ["claude-code", "cursor", "codex", "vscode", "windsurf", "gemini"] {
        let output = user.command(&["client", "add", client, "--role", "Builder"]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let workspace = user.path("workspace").canonicalize().unwrap();
    let workspace = workspace.to_str().unwrap();
    let claude: Value = serde_json::from_str(&text(&user, "home/.claude.json")).unwrap();
    let entry = &claude["projects"][workspace]["mcpServers"]["hermes"];
    assert_eq!(entry["args"].as_array().unwrap()[..3], ["run", "--workspace", workspace]);
    let cursor = text(&user, "home/.cursor/mcp.json");
    assert!(cursor.contains("// mine") && cursor.contains(workspace), "{cursor}");
    assert!(text(&user, "home/.codex/config.toml").contains("[mcp_servers.hermes]"));
    let entry = |file: &str, key: &str| {
        let text = text(&user, file).replace(" // mine", "");
        serde_json::from_str::<Value>(&text).unwrap()[key]["hermes"].clone()
    };
    let code = entry("config/Code/User/mcp.json", "servers");
    assert_eq!((&code["type"], &code["args"][2]), (&"stdio".into(), &workspace.into()), "{code}");
    for file in ["home/.codeium/windsurf/mcp_config.json", "home/.gemini/settings.json"] {
        let entry = entry(file, "mcpServers");
        assert!(entry["type"].is_null() && entry["args"][2] == workspace, "{file}: {entry}");
    }
    assert!(text(&user, "home/.gemini/settings.json").contains("// mine"));
    let backups = std::fs::read_dir(user.path("home/.cursor"))
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().ends_with(".bak"));
    assert_eq!(backups.count(), 1);
}

#[test]
fn what_is_only_printed_is_not_written() {
    let user = peer::builder();
    let output = user.command(&["client", "add", "codex", "--print"]).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("[mcp_servers.hermes]"));
    assert!(!user.path("home/.codex").exists());
}

//! Does anything decide by the name of a tool or an adapter? With every shipped name changed in the manifests, all
//! scenarios still hold.

use crate::scenario::{folder, run_with};
use crate::support::house::{House, project, rewrite_manifests};

/// The names of all shipped tools and adapters.
fn names() -> Vec<String> {
    let mut names = Vec::new();
    let manifests = |folder: &str| -> Vec<std::path::PathBuf> {
        let entries = std::fs::read_dir(project().join(folder)).into_iter().flatten();
        entries.map(|entry| entry.unwrap().path()).collect()
    };
    for plugin in manifests("plugins") {
        let Ok(adapter) = std::fs::read_to_string(plugin.join("adapter.toml")) else { continue };
        let adapter: toml::Table = adapter.parse().unwrap();
        names.extend(adapter["names"].as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()));
        for tool in manifests(&format!("{}/tools", plugin.display())) {
            let manifest: toml::Table = std::fs::read_to_string(tool).unwrap().parse().unwrap();
            names.push(manifest["tool"]["name"].as_str().unwrap().to_owned());
        }
    }
    // An adapter may be called like a capability or a word of the manifest; only names with a shape of their own are
    // changed everywhere.
    names.retain(|name| name.contains('_') || name.ends_with("Adapter"));
    names
}

/// A text in which whole words that are names have another one, save what a component calls its own tool.
fn renamed(text: &str, names: &[String]) -> String {
    let line = |line: &str| match line.trim_start().starts_with("tool = ") && !line.contains("[[") {
        true if !text.contains("[[calls]]") => line.to_owned(),
        _ => names.iter().fold(line.to_owned(), |line, name| replace_word(&line, name, &format!("{name}_2"))),
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

fn replace_word(text: &str, word: &str, by: &str) -> String {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(word) {
        let (before, after) = (&rest[..at], &rest[at + word.len()..]);
        let whole = !before.ends_with(is_word) && !after.starts_with(is_word);
        out.push_str(before);
        out.push_str(if whole { by } else { word });
        rest = after;
    }
    out + rest
}

#[test]
fn every_scenario_holds_under_other_names() {
    let names = names();
    assert!(names.len() >= 5, "{names:?}");
    let mut ran = 0;
    for entry in std::fs::read_dir(folder()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        println!("{name}");
        let house = House::with_files();
        rewrite_manifests(&house.path("plugins"), &|text| renamed(text, &names));
        let manifest = std::fs::read_to_string(house.path("plugins/file/tools/file_read.toml")).unwrap();
        assert!(manifest.contains("name = \"file_read_2\"") && manifest.contains("adapter = \"FileAdapter_2\""));
        run_with(&name, house, |text| renamed(text, &names));
        ran += 1;
    }
    assert!(ran > 30, "{ran}");
}

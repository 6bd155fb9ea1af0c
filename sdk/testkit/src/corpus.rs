//! Where are findings kept, and how does one become a test? One JSON file each, named by what happened.

use crate::fuzz::Finding;
use std::path::{Path, PathBuf};

/// The findings of a corpus, by name.
///
/// # Errors
/// A file that cannot be read.
pub fn read_corpus(folder: &Path) -> Result<Vec<Finding>, String> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).map_err(|error| error.to_string())?.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    let read = |file: PathBuf| {
        let text = std::fs::read_to_string(&file).map_err(|error| format!("`{}`: {error}", file.display()))?;
        serde_json::from_str(&text).map_err(|error| format!("`{}` is no finding: {error}", file.display()))
    };
    files.into_iter().map(read).collect()
}

pub(crate) fn keep(folder: &Path, finding: &Finding) -> Result<(), String> {
    let text = serde_json::to_string_pretty(finding).map_err(|error| error.to_string())?;
    let file = folder.join(finding.file());
    let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&file, text + "\n"));
    written.map_err(|error| format!("`{}` cannot be written: {error}", file.display()))
}

impl Finding {
    /// The name of its file in a corpus.
    pub fn file(&self) -> String {
        let digest = blake3::hash(format!("{} {}", self.tool, self.args).as_bytes()).to_hex();
        format!("{}-{}.json", self.oracle.name(), &digest[..12])
    }

    /// A test that fails as long as the finding holds.
    pub fn test(&self, plugin: &Path) -> String {
        let name: String = self.tool.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let finding = serde_json::to_string(&Finding { what: String::new(), ..self.clone() }).unwrap_or_default();
        format!(
            "#[test]\nfn {name}_has_no_{}() {{\n    let plugin = hermes_testkit::plugin::Plugin::read({:?}.as_ref()).unwrap();\n    \
             let finding = serde_json::from_str(r####\"{finding}\"####).unwrap();\n    \
             assert_eq!(hermes_testkit::fuzz::replay(&plugin, &finding).unwrap(), None);\n}}",
            self.oracle.name(),
            plugin.display().to_string(),
        )
    }
}

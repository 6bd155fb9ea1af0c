//! What is in a new plugin's folder? The template of its language with the contract; for Rust the SDK and all that it is
//! made of, too, so that it builds without a network, from this program alone.

use crate::failure::Failure;
use crate::output;
use std::path::Path;

/// Files by relative path.
type Files = &'static [(&'static str, &'static [u8])];

/// The templates by language, each with all files of a new plugin; the SDK and `vendor` are those of the build.
static TEMPLATES: &[(&str, Files)] = include!(concat!(env!("OUT_DIR"), "/templates.rs"));

pub(crate) fn run(folder: &Path, language: &str, role: &str) -> Result<u8, Failure> {
    let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if !is_name(name) {
        let why = format!("`{name}` cannot be a plugin's name: use small letters, digits, `-` and `_`, a letter first");
        return Err(Failure::usage(why));
    }
    if !role.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-') || role.is_empty() {
        return Err(Failure::usage(format!("`{role}` is no role's name")));
    }
    let template = TEMPLATES.iter().find(|(name, _)| *name == language).map(|(_, files)| *files).unwrap_or_default();
    let is_whole = language != "rust" || template.iter().any(|(path, _)| path.starts_with("vendor/"));
    if !is_whole {
        return Err(Failure::unavailable(
            "this program was built without the SDK; run `./just plugins`, then build it",
        ));
    }
    let failed = |error: std::io::Error| Failure::usage(format!("`{}` cannot be made: {error}", folder.display()));
    if folder.exists() && std::fs::read_dir(folder).map_err(failed)?.next().is_some() {
        return Err(Failure::usage(format!("`{}` is there already and not empty", folder.display())));
    }
    for (path, content) in template {
        let file = folder.join(path.strip_suffix(".template").unwrap_or(path));
        let parent = file.parent().unwrap_or(folder);
        let is_text = path.ends_with(".template");
        let filled = is_text.then(|| filled(&String::from_utf8_lossy(content), name, role));
        let content = filled.as_ref().map_or(*content, |text| text.as_bytes());
        std::fs::create_dir_all(parent).and_then(|()| std::fs::write(&file, content)).map_err(failed)?;
    }
    output::line(&format!(
        "made {0}\n\n  cd {0}\n  hermes-dispatch plugin test      # builds it, runs its tests and the cases in tests/\n  \
         hermes-dispatch plugin fuzz .    # looks for inputs that break it\n  \
         hermes-dispatch plugin install . # checks it and puts it where your configuration finds it\n  \
         hermes-dispatch call {1}_count path=README.md   # calls its tool, once it is installed",
        folder.display(),
        name.replace('-', "_")
    ));
    Ok(0)
}

/// Whether a plugin can be called so; its folder has the same name.
pub(super) fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_')
}

fn filled(text: &str, name: &str, role: &str) -> String {
    text.replace("{{name}}", name).replace("{{ident}}", &name.replace('-', "_")).replace("{{role}}", role)
}

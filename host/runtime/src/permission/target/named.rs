//! By which names does a rule know a command? Its program, and what could be a path among its arguments. Pure.

use super::command::Command;

impl Command {
    /// Why it is never only reading, whatever its name is.
    pub(in crate::permission) fn bars(&self) -> &[&'static str] {
        &self.bars
    }

    /// The plain name, alone and with the first argument that is no option.
    pub(super) fn programs(&self) -> Vec<String> {
        let Some(name) = self.words.first() else { return Vec::new() };
        let first = self.words.iter().skip(1).find(|word| !word.text.starts_with('-') && !word.expands);
        let both = first.map(|word| format!("{} {}", name.text, word.text));
        std::iter::once(name.text.clone()).chain(both).collect()
    }

    /// Arguments that could be paths, as if the command ran in the workspace. A pattern stands for itself.
    pub(super) fn paths(&self) -> Vec<String> {
        let values = self.words.iter().skip(1).map(|word| match word.text.split_once('=') {
            Some((option, value)) if option.starts_with('-') => value,
            _ => word.text.as_str(),
        });
        let could_be = |value: &&str| !value.is_empty() && !value.starts_with('-') && !value.contains('\n');
        values.filter(could_be).map(absolute).collect()
    }
}

/// A path in normal form, from the workspace if it does not begin at the root.
fn absolute(path: &str) -> String {
    let whole = if path.starts_with('/') { path.to_owned() } else { format!("{}/{path}", super::path::WORKSPACE) };
    let mut parts: Vec<&str> = Vec::new();
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::super::command::of_text;

    fn check(text: &str, programs: &[&str], paths: &[&str]) {
        let commands = of_text(text, 0).unwrap();
        assert_eq!(commands[0].programs(), programs, "{text}");
        assert_eq!(commands[0].paths(), paths, "{text}");
    }

    #[test]
    fn a_command_is_known_by_its_program_and_its_paths() {
        check("git -C x push origin", &["git", "git push"], &["/workspace/push", "/workspace/origin"]);
        check("cat ./a/../.env", &["cat", "cat ./a/../.env"], &["/workspace/.env"]);
        check("rg -n --file=/workspace/keys x", &["rg", "rg x"], &["/workspace/keys", "/workspace/x"]);
        check("ls", &["ls"], &[]);
    }
}

//! Who types the commands? A user with folders of their own, who runs the built command with no terminal or at one.
//! Must not know what a test asks of it.

use super::guest::Guest;
use super::house::House;
use serde_json::Value;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;

/// The command that the workspace builds, beside this test.
///
/// # Panics
/// If it is not there: a test that skips itself protects nothing.
pub(crate) fn binary() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let binary = test.parent().and_then(Path::parent).unwrap().join("hermes-dispatch");
    assert!(binary.is_file(), "there is no `{}`; run `cargo build --workspace`", binary.display());
    binary
}

/// How a command ended. At a terminal `out` has all that was shown there, and `err` nothing.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ended {
    /// Fails unless the command exited so.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Ended {
        assert_eq!(self.code, Some(code), "\n--- out\n{}\n--- err\n{}", self.out, self.err);
        self
    }

    /// Fails unless standard error has all of this, whatever lines it is broken into.
    #[track_caller]
    pub(crate) fn says(self, words: &[&str]) -> Ended {
        let said = flat(&self.err);
        for word in words {
            assert!(said.contains(&flat(word)), "nothing of `{word}` in\n{}", self.err);
        }
        self
    }

    /// The answer.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}:\n{}\n{}", self.out, self.err))
    }

    /// The answers, one a line.
    #[track_caller]
    pub(crate) fn lines(&self) -> Vec<Value> {
        let parse = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}:\n{}", self.out));
        self.out.lines().map(parse).collect()
    }

    /// The kind of the failure that the answer tells.
    #[track_caller]
    pub(crate) fn kind(&self) -> String {
        self.json()["error"]["kind"].as_str().unwrap_or_default().to_owned()
    }
}

/// One line of words, without the marks that a report puts before and between lines.
fn flat(text: &str) -> String {
    let words = text.split_whitespace().filter(|word| !matches!(*word, "│" | "|" | "×" | "x"));
    words.collect::<Vec<_>>().join(" ")
}

/// A user of the command.
pub(crate) struct User {
    house: House,
    /// Further variables of the environment.
    pub(crate) environment: Vec<(String, String)>,
}

impl User {
    /// A user who has configured nothing, in an empty workspace.
    pub(crate) fn new() -> User {
        let house = House::empty();
        for folder in ["home", "config/hermes-dispatch"] {
            std::fs::create_dir_all(house.path(folder)).unwrap();
        }
        User { house, environment: Vec::new() }
    }

    /// One who has named a role that may use every file tool.
    pub(crate) fn builder() -> User {
        let user = User::new();
        user.configure("[roles.Builder]\ndefault = true\n");
        user
    }

    /// One who has also installed a guest of the tests.
    pub(crate) fn with_guest(guest: &Guest) -> User {
        let user = User::new();
        guest.put(&user.house);
        user.configure(&format!("plugin_folders = [{:?}]\n[roles.Builder]\ndefault = true\n", user.path("plugins")));
        user
    }

    /// Writes the user's own configuration.
    pub(crate) fn configure(&self, text: &str) -> PathBuf {
        let file = self.path("config/hermes-dispatch/config.toml");
        std::fs::write(&file, text).unwrap();
        file
    }

    /// A path among the user's folders.
    pub(crate) fn path(&self, beneath: &str) -> PathBuf {
        self.house.path(beneath)
    }

    /// The folders themselves.
    pub(crate) fn house(&self) -> &House {
        &self.house
    }

    /// The folder with the journal.
    pub(crate) fn state(&self) -> PathBuf {
        self.path("state/hermes-dispatch")
    }

    /// Writes a file, making the folders above it.
    pub(crate) fn write(&self, beneath: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let file = self.path(beneath);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, content).unwrap();
        file
    }

    /// What is in the workspace, sorted.
    pub(crate) fn workspace(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path("workspace")).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// A program with this user's environment, in the workspace. Compiled components are shared by all tests.
    pub(crate) fn program(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let binary = binary();
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", binary.parent().unwrap().display()))
            .env("HOME", self.path("home"))
            .env("XDG_CONFIG_HOME", self.path("config"))
            .env("XDG_STATE_HOME", self.path("state"))
            .env("XDG_CACHE_HOME", Path::new(env!("CARGO_TARGET_TMPDIR")).join("user-cache"))
            .envs(self.environment.iter().cloned())
            .current_dir(self.path("workspace"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// The command with no controlling terminal.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.program("setsid");
        command.arg("--wait").arg(binary()).args(args);
        command
    }

    /// Runs the command with no controlling terminal.
    pub(crate) fn run(&self, args: &[&str]) -> Ended {
        finish(self.command(args).spawn().unwrap(), &[])
    }

    /// The same with something on standard input.
    pub(crate) fn run_with(&self, args: &[&str], input: &str) -> Ended {
        finish(self.command(args).stdin(Stdio::piped()).spawn().unwrap(), input.as_bytes())
    }

    /// Runs the command at a terminal of its own. Each answer is typed once its question is shown.
    pub(crate) fn at_terminal(&self, args: &[&str], dialogue: &[(&str, &str)]) -> Ended {
        self.at_terminal_while(args, dialogue, || {})
    }

    /// The same, and something happens while a question is open.
    pub(crate) fn at_terminal_while(&self, args: &[&str], dialogue: &[(&str, &str)], open: impl Fn()) -> Ended {
        let quoted = |word: &str| format!("'{}'", word.replace('\'', r"'\''"));
        let binary = binary().display().to_string();
        let words: Vec<String> = std::iter::once(binary.as_str()).chain(args.iter().copied()).map(quoted).collect();
        talk(self.script(&words.join(" ")).spawn().unwrap(), dialogue, open)
    }

    /// Runs a line of the shell at a terminal of its own, in a folder.
    pub(crate) fn typed(&self, line: &str, folder: &Path, dialogue: &[(&str, &str)]) -> Ended {
        talk(self.script(line).current_dir(folder).spawn().unwrap(), dialogue, || {})
    }

    fn script(&self, line: &str) -> Command {
        let mut script = self.program("script");
        script.args(["-qec", line, "/dev/null"]).env("TERM", "xterm").stdin(Stdio::piped());
        script
    }
}

/// Waits for the end of a command.
pub(crate) fn finish(mut child: Child, input: &[u8]) -> Ended {
    if let Some(mut stdin) = child.stdin.take() {
        // A command that refuses before it reads has closed the pipe.
        let _ = stdin.write_all(input);
    }
    let output = child.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ended { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
}

fn talk(mut child: Child, dialogue: &[(&str, &str)], open: impl Fn()) -> Ended {
    let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let (sender, shown) = mpsc::channel();
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(read @ 1..) = stdout.read(&mut buffer) {
            if sender.send(buffer[..read].to_vec()).is_err() {
                return;
            }
        }
    });
    let (mut out, mut seen) = (Vec::new(), 0);
    let mut rest = dialogue.iter();
    let mut next = rest.next();
    loop {
        match shown.recv_timeout(super::WATCHDOG) {
            Ok(bytes) => out.extend(bytes),
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                let _ = child.kill();
                panic!("nothing came after\n{}", String::from_utf8_lossy(&out));
            }
        }
        if let Some((question, answer)) = next
            && let Some(at) = find(&out[seen..], question.as_bytes())
        {
            seen += at + question.len();
            open();
            stdin.write_all(answer.as_bytes()).unwrap();
            next = rest.next();
        }
    }
    let out = String::from_utf8_lossy(&out).replace("\r\n", "\n");
    assert!(next.is_none(), "nobody asked `{}` in\n{out}", next.map_or("", |(question, _)| question));
    Ended { code: child.wait().unwrap().code(), out, err: String::new() }
}

fn find(text: &[u8], word: &[u8]) -> Option<usize> {
    text.windows(word.len()).position(|window| window == word)
}

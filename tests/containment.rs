//! What can a program not do to a place that it may write, and what becomes of a call whose sandbox is not whole? With
//! real repositories, real limits, and a kernel from which single calls are taken away.

use crate::support::house::{House, call};
use crate::support::people::{Channel, Person};
use crate::support::user::{User, binary};
use crate::support::{block_on, block_on_within};
use hermes_runtime::permission::approval::Approver;
use hermes_runtime::{Config, Envelope, Runtime};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

/// A runtime whose person says yes to everything.
fn start(house: &House, config: Config) -> Runtime {
    house.start_with(config, Some(Arc::new(Channel::new(Person::Yes)) as Arc<dyn Approver>))
}

async fn run(runtime: &Runtime, command: &str) -> Envelope {
    runtime.call(call("terminal", json!({ "command": command }))).await.envelope
}

/// Git as its user runs it, outside of every sandbox.
fn git(folder: &Path, args: &[&str]) {
    let identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "init.defaultBranch=main"];
    let mut command = Command::new("git");
    command.current_dir(folder).args(identity).args(args).env("GIT_CONFIG_GLOBAL", "/dev/null");
    let output = command.output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn tree(house: &House) -> Vec<(&'static str, String)> {
    let files = [".git/config", "nested/deep/.git/config", "bare.git/config", "linked/.git"];
    files.map(|file| (file, house.read(file))).into()
}

/// A workspace with every form in which git keeps a repository.
fn repositories() -> House {
    let house = House::with_files();
    let workspace = house.path("workspace");
    std::fs::create_dir_all(workspace.join("nested/deep")).unwrap();
    git(&workspace, &["init", "-q"]);
    house.write("a.txt", "a\n");
    git(&workspace, &["add", "a.txt"]);
    git(&workspace, &["commit", "-qm", "one"]);
    git(&workspace.join("nested/deep"), &["init", "-q"]);
    git(&workspace, &["init", "-q", "--bare", "bare.git"]);
    git(&workspace, &["worktree", "add", "-q", "linked"]);
    std::fs::remove_dir_all(workspace.join("nested/deep/.git/hooks")).unwrap();
    house
}

#[test]
fn what_git_would_run_is_kept_from_programs() {
    let house = repositories();
    let before = tree(&house);
    let runtime = start(&house, house.config());
    block_on(async {
        let hostile = r#"
            evil='[core]
                fsmonitor = touch /workspace/PWNED'
            mkdir evil; echo "$evil" > evil/config
            for place in . nested/deep linked; do
                echo "$evil" >> $place/.git/config; echo "$evil" > $place/.git/config
                mv $place/.git $place/moved; rm -rf $place/.git/config; ln -sf /workspace/evil/config $place/.git/config
                mkdir -p $place/.git/hooks; echo 'touch /workspace/PWNED' > $place/.git/hooks/post-index-change
                echo /workspace/evil > $place/.git/commondir
            done
            echo "$evil" >> bare.git/config; mv bare.git b; echo "$evil" > bare.git/hooks/pre-receive; rm -rf bare.git/config
            echo gitdir: /workspace/evil > linked/.git; rm -f linked/.git; mv linked/.git linked/g
            echo /workspace/evil > .git/worktrees/linked/commondir
            true"#;
        let envelope = run(&runtime, hostile).await;
        assert_eq!(envelope.code(), 200, "{envelope:#?}");
    });
    assert_eq!(tree(&house), before);
    let there = |path: &str| house.path("workspace").join(path).exists();
    for path in [".git/commondir", "nested/deep/.git/commondir", "nested/deep/.git/hooks", "moved", "b", "linked/g"] {
        assert!(!there(path), "{path} is there");
    }
    assert!(there("nested/deep/.git/hooks.kept-from-git-1"), "what was left is put aside, not lost");
    assert!(!there(".git/hooks/post-index-change") && !there("bare.git/hooks/pre-receive"));
    assert_eq!(house.read(".git/worktrees/linked/commondir"), "../..\n");
    for place in ["", "nested/deep", "bare.git", "linked"] {
        git(&house.path("workspace").join(place), &["branch", "-a"]);
    }
    git(&house.path("workspace"), &["status", "--short"]);
    assert!(!there("PWNED"), "git ran what a program had left");
}

/// What a program leaves is put aside also when it never ends by itself.
#[test]
fn what_git_would_run_is_put_aside_after_the_deadline_too() {
    let house = repositories();
    let runtime = start(&house, house.config());
    block_on(async {
        let command = "mkdir evil; echo /workspace/evil > .git/commondir; cat .git/commondir; sleep 50";
        let args = json!({ "command": command, "timeout_seconds": 2 });
        let envelope = runtime.call(call("terminal", args)).await.envelope;
        assert_eq!(envelope.code(), 408, "{envelope:#?}");
        assert_eq!(envelope.data["stdout"], "/workspace/evil\n");
    });
    assert!(!house.path("workspace/.git/commondir").exists());
    assert!(house.path("workspace/.git/commondir.kept-from-git-1").exists());
}

#[test]
fn git_works_in_what_is_guarded() {
    let house = repositories();
    let runtime = start(&house, house.config());
    block_on(async {
        let say = "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b";
        let commands = [
            "echo b > b.txt && git add b.txt && git commit -qm two && git checkout -q -b side && git stash list",
            "git init -q new && cd new && echo a > a && git add a && git commit -qm one && git gc -q",
            "cd new && echo b > b && git add b && git commit -qm two && git tag x && git log --oneline | wc -l | grep -x 2",
            "cd linked && echo c > c && git add c && git commit -qm three && git worktree list | wc -l | grep -x 2",
        ];
        for command in commands {
            let envelope = run(&runtime, &format!("{say}; {command}")).await;
            assert_eq!(envelope.code(), 200, "{command}: {envelope:#?}");
        }
    });
}

/// A repository in whose past there is a file that is kept from tools.
fn with_a_secret() -> (House, Config) {
    let house = House::with_files();
    let workspace = house.path("workspace");
    std::fs::create_dir_all(workspace.join("sub")).unwrap();
    for file in [".env", "sub/key"] {
        house.write(file, "API_KEY=canary-4711\n");
    }
    house.write("a.txt", "open-4711\n");
    git(&workspace, &["init", "-q"]);
    git(&workspace, &["add", "."]);
    git(&workspace, &["commit", "-qm", "one"]);
    for file in [".env", "sub/key", "a.txt"] {
        house.write(file, "changed\n");
    }
    git(&workspace, &["commit", "-qam", "two"]);
    let mut config = house.config();
    config.protected.extend([house.path("workspace/.env"), house.path("workspace/sub/key")]);
    (house, config)
}

fn object(house: &House, name: &str) -> String {
    let output = Command::new("git").current_dir(house.path("workspace")).args(["rev-parse", name]).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn git_shows_nothing_of_what_is_kept_from_tools() {
    let (house, config) = with_a_secret();
    let runtime = start(&house, config);
    let (blob, folder) = (object(&house, "HEAD~1:.env"), object(&house, "HEAD~1:sub"));
    let refused: &[(&str, &[&str], &str)] = &[
        ("show", &["HEAD~1:.env"], "."),
        ("show", &["HEAD~1:./key"], "sub"),
        ("show", &[&blob], "."),
        ("diff", &[&folder, "HEAD:sub"], "."),
        ("grep", &["KEY", &folder], "."),
        ("cat-file", &["-p", &blob], "."),
        ("blame", &["HEAD~1", "--", ".env"], "."),
        ("blame", &["HEAD~1", "--", "key"], "sub"),
        ("worktree", &["add", "copy"], "."),
        ("stash", &["show", "-p"], "."),
        ("archive", &["HEAD~1:sub"], "."),
    ];
    let filtered: &[(&str, &[&str], &str)] = &[
        ("show", &["HEAD~1"], "."),
        ("log", &["-p"], "."),
        ("log", &["-p"], "sub"),
        ("diff", &["HEAD~1"], "."),
        ("diff", &["HEAD~1", "HEAD"], "sub"),
        ("grep", &["4711", "HEAD~1"], "."),
    ];
    block_on_within(Duration::from_secs(120), async {
        for (subcommand, args, cwd) in refused {
            let args = json!({ "subcommand": subcommand, "args": args, "cwd": cwd });
            let envelope = runtime.call(call("git", args.clone())).await.envelope;
            let error = envelope.error.as_ref().unwrap_or_else(|| panic!("{args} went well: {:#}", envelope.data));
            assert_eq!((error.code, error.reason.as_deref()), (403, Some("path_out_of_bounds")), "{args}: {error:#?}");
            assert!(!serde_json::to_string(&envelope).unwrap().contains("canary"), "{args}");
        }
        for (subcommand, args, cwd) in filtered {
            let args = json!({ "subcommand": subcommand, "args": args, "cwd": cwd });
            let envelope = runtime.call(call("git", args.clone())).await.envelope;
            assert_eq!(envelope.code(), 200, "{args}: {envelope:#?}");
            let text = serde_json::to_string(&envelope).unwrap();
            assert!(!text.contains("canary"), "{args}: {text}");
            assert!(text.contains("open-4711") || *cwd == "sub", "{args} shows nothing at all: {text}");
        }
    });
}

#[test]
fn shell_text_shows_nothing_of_what_is_kept_from_tools() {
    let (house, config) = with_a_secret();
    let runtime = start(&house, config);
    let blob = object(&house, "HEAD~1:.env");
    let refused = [
        "git log -p".to_owned(),
        "git log --patch -1 | head".into(),
        "git -C sub log -u".into(),
        "git show HEAD~1:.env".into(),
        format!("git show {blob}"),
        "cd sub && git show HEAD~1:./key".into(),
        "git diff HEAD~1".into(),
        "git grep KEY HEAD~1".into(),
        "git blame HEAD~1 -- .env".into(),
        format!("git cat-file -p {blob}"),
        "sh -c 'git stash show -p'".into(),
        "git worktree add ../copy".into(),
        "git checkout HEAD~1 -- .env".into(),
    ];
    block_on_within(Duration::from_secs(120), async {
        for command in refused {
            let envelope = run(&runtime, &command).await;
            let error = envelope.error.as_ref().unwrap_or_else(|| panic!("{command} went well: {:#}", envelope.data));
            assert_eq!((error.code, error.reason.as_deref()), (403, Some("path_out_of_bounds")), "{command}");
            assert!(!serde_json::to_string(&envelope).unwrap().contains("canary"), "{command}");
        }
        for command in ["git log --oneline --stat", "git status --short", "cat a.txt", "cat .e* sub/k*; true"] {
            let envelope = run(&runtime, command).await;
            assert_eq!(envelope.code(), 200, "{command}: {envelope:#?}");
            assert!(!serde_json::to_string(&envelope).unwrap().contains("canary"), "{command}");
        }
        let search = call("file_search", json!({ "query": "API_KEY" }));
        let found = runtime.call(search).await.envelope;
        assert_eq!(found.code(), 200, "{found:#?}");
        assert!(!serde_json::to_string(&found).unwrap().contains("canary"));
    });
}

/// Says whether a program could reach a server of this machine, and what it said.
async fn reaches(runtime: &Runtime, listener: &TcpListener, more: &str) -> bool {
    let port = listener.local_addr().unwrap().port();
    listener.set_nonblocking(true).unwrap();
    let script = format!("{more}python3 -c \"import socket; socket.create_connection(('127.0.0.1', {port}), 5).send(b'x')\"");
    let envelope = run(runtime, &script).await;
    let came = listener.accept().is_ok_and(|(mut stream, _)| {
        stream.set_nonblocking(false).unwrap();
        stream.read(&mut [0]).is_ok_and(|read| read == 1)
    });
    assert_eq!(envelope.code() == 200, came, "{envelope:#?}");
    came
}

#[test]
fn the_network_is_off_unless_the_operator_turns_it_on_and_always_for_what_reads() {
    let house = House::with_files();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    block_on(async {
        let off = start(&house, house.config());
        assert!(!reaches(&off, &listener, "").await, "a program has the network without a grant");
        drop(off);
        let mut config = house.config();
        config.completions.entry("terminal".into()).or_default().network = true;
        let on = start(&house, config);
        assert!(reaches(&on, &listener, "").await, "the operator's grant does nothing");
        // A call that only reads has none, whatever is granted: it does not even see the machine's names.
        let read = run(&on, "cat /etc/resolv.conf; ls -a /etc | grep -c hosts").await;
        assert_eq!(read.data["stdout"], "0\n", "{read:#?}");
    });
}

/// Takes one call of the kernel away from everything that is started after it.
const WITHOUT: &str = r"
import ctypes, os, struct, sys
line = lambda *parts: struct.pack('HBBI', *parts)
program = line(0x20, 0, 0, 0) + line(0x15, 0, 1, int(sys.argv[1])) + line(6, 0, 0, 0x50000 | 38) + line(6, 0, 0, 0x7fff0000)
buffer = ctypes.create_string_buffer(program)
class Program(ctypes.Structure):
    _fields_ = [('length', ctypes.c_ushort), ('lines', ctypes.c_void_p)]
filter = Program(4, ctypes.cast(buffer, ctypes.c_void_p))
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, ctypes.byref(filter), 0, 0) == 0
os.execv(sys.argv[2], sys.argv[2:])
";

#[cfg(target_arch = "x86_64")]
#[test]
fn a_call_is_refused_when_a_layer_is_missing_and_doctor_names_it() {
    let user = User::new();
    // Components are compiled while everything is there.
    user.run(&["call", "terminal", "command=ls"]).exits(0);
    let binary = binary();
    let without = |number: &str, args: &[&str]| {
        let mut command = user.program("python3");
        command.args(["-c", WITHOUT, number, binary.to_str().unwrap()]).args(args);
        let output = command.output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    for (number, layer) in [
        ("444", "Landlock rules"),
        ("317", "filter of system calls"),
        ("272", "namespaces"),
        ("428", "mount namespace"),
        ("442", "mount namespace"),
        ("165", "mount namespace"),
    ] {
        let (code, out, err) = without(number, &["call", "terminal", "command=ls"]);
        assert_eq!(code, Some(4), "{layer}\n{out}\n{err}");
        let answer: Value = serde_json::from_str(&out).unwrap();
        let error = &answer["error"];
        assert_eq!((error["kind"].as_str(), error["reason"].as_str()), (Some("unavailable"), Some("layer_missing")));
        assert!(error["message"].as_str().unwrap().contains(layer), "{layer}: {error:#}");
        let (code, out, err) = without(number, &["doctor", "--output", "text"]);
        assert_eq!(code, Some(4), "{layer}\n{out}\n{err}");
        let said = out.lines().any(|line| line.starts_with("FAULT sandbox") && line.contains(layer));
        assert!(said, "{layer} is no fault of the sandbox in\n{out}");
    }
    let whole = user.run(&["doctor", "--output", "text"]).exits(0).out;
    for layer in ["namespaces:", "user:", "git:", "limits:", "privileges:", "landlock:", "system calls:"] {
        let shown = whole.lines().any(|line| line.starts_with("ok") && line.contains(&format!("sandbox {layer}")) || line.contains(layer));
        assert!(shown, "{layer} is not in\n{whole}");
    }
}

#[test]
fn what_cannot_be_started_is_named() {
    let house = House::with_files();
    std::fs::create_dir_all(house.path("workspace/folder")).unwrap();
    house.write("plain.txt", "x");
    std::fs::create_dir_all(house.path("tools")).unwrap();
    let manifest = |name: &str, argv: &str| {
        let text = format!(
            "[tool]\nname = {name:?}\nversion = \"1.0.0\"\ndescription = \"d\"\ncategory = \"cli\"\n\
             [[tool.inputs]]\nname = \"words\"\ntype = \"array\"\nitems = \"string\"\nrequired = false\ndefault = []\n\
             validation = {{ format = \"text\", max_length = 1000000 }}\n\
             [tool.permissions]\nrequired_roles = [\"Builder\"]\nrisk_level = \"low\"\nrequires_approval = true\n\
             [tool.effect]\nkind = \"read\"\n\
             [tool.backend]\ntype = \"cli\"\nadapter = \"CLIAdapter\"\ntool = \"program\"\n\
             [tool.backend.arguments]\nargv = {argv:?}\nvalues = {{ words = \"{{words}}\" }}\n"
        );
        std::fs::File::create(house.path("tools").join(format!("{name}.toml"))).unwrap().write_all(text.as_bytes()).unwrap();
    };
    for (name, argv) in [
        ("missing", "no-such-program {{words}}"),
        ("missing_path", "/workspace/no-such-program"),
        ("folder", "/workspace/folder"),
        ("plain", "/workspace/plain.txt"),
        ("say", "echo {{words}}"),
    ] {
        manifest(name, argv);
    }
    let mut config = house.config();
    config.tool_folders.push(house.path("tools"));
    let runtime = start(&house, config);
    let many: Vec<String> = (0..150_000).map(|number| number.to_string()).collect();
    let long = "x".repeat(200_000);
    let cases = [
        ("missing", json!([]), 502, "program_not_found", "no-such-program"),
        ("missing_path", json!([]), 502, "program_not_found", "/workspace/no-such-program"),
        ("folder", json!([]), 502, "not_a_program", "`/workspace/folder` is a directory"),
        ("plain", json!([]), 403, "permission_denied", "plain.txt"),
        ("say", json!(["a", "b\0c"]), 400, "invalid_argument", "argument 2 has a NUL"),
        ("say", json!(many), 413, "too_large", "arguments"),
        ("say", json!([long]), 413, "too_large", "`echo` cannot be given so many or so long arguments"),
    ];
    block_on(async {
        for (tool, words, code, reason, names) in cases {
            let envelope = runtime.call(call(tool, json!({ "words": words }))).await.envelope;
            let error = envelope.error.unwrap_or_else(|| panic!("{tool} went well"));
            assert_eq!((error.code, error.reason.as_deref()), (code, Some(reason)), "{tool}: {error:#?}");
            assert!(error.message.contains(names), "{tool}: {error:#?}");
        }
        let said = runtime.call(call("say", json!({ "words": ["a b", "-n", "$HOME"] }))).await.envelope;
        assert_eq!(said.code(), 400, "a word that could be an option is refused: {said:#?}");
    });
}

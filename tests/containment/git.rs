//! What can a program not do to a repository, and what of git's own store does nobody see through it?

use super::{run, start};
use crate::support::house::{House, call};
use crate::support::user::User;
use crate::support::{block_on, block_on_within};
use hermes_runtime::Config;
use serde_json::json;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

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
            "git worktree add -q wt && cd wt && echo c > c && git add c && git commit -qm three",
            "cd wt && echo d > d && git add d && git commit -qm four && git worktree prune && git log --oneline -1",
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

/// The runtime's own files in a workspace are kept from tools and are no secret: git is as useful as ever.
#[test]
fn without_secrets_in_a_workspace_git_shows_everything() {
    let user = User::new();
    let workspace = user.path("workspace");
    user.write("workspace/hermes.toml", "[ceiling]\nfuel = 1000000000\n");
    user.write("workspace/a.txt", "before\n");
    // A program finds the file as it is and cannot change it, however it goes about it.
    user.write(
        "workspace/change.sh",
        "f=hermes.toml; echo 1 >> $f; echo > $f; rm $f; mv $f x; ln -sf a.txt $f; wc -c $f\n",
    );
    git(&workspace, &["init", "-q"]);
    git(&workspace, &["add", "."]);
    git(&workspace, &["commit", "-qm", "one"]);
    let changed = user.at_terminal(&["call", "terminal", "command=sh change.sh"], &[("[y/N]", "y\n")]);
    assert!(changed.out.contains("28 hermes.toml"), "{changed:#?}");
    let settings = std::fs::read_to_string(user.path("workspace/hermes.toml")).unwrap();
    assert_eq!(settings, "[ceiling]\nfuel = 1000000000\n", "{changed:#?}");
    user.write("workspace/a.txt", "after\n");
    for command in
        ["git log -p", "git show HEAD:a.txt", "git diff", "git grep before HEAD", "git cat-file -p HEAD:a.txt"]
    {
        let ended = user.run(&["call", "terminal", &format!("command={command}")]).exits(0);
        assert!(ended.json()["data"]["stdout"].as_str().unwrap().contains("before"), "{command}: {ended:#?}");
    }
    let args = ["call", "git", "subcommand=cat-file", r#"args=["-p", "HEAD:a.txt"]"#];
    assert_eq!(user.run(&args).exits(0).json()["data"]["stdout"], "before\n");
}

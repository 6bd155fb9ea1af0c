//! Is every command of a text listed, and everything refused that shells read differently?

use super::*;

/// The words of each command, and `>` before each file that is written.
fn listed(text: &str) -> Vec<String> {
    let command = |simple: Simple| {
        let words = simple.words.into_iter().map(|word| word.text + if word.expands { "*" } else { "" });
        let writes = simple.writes.into_iter().map(|word| format!(">{}", word.text));
        words.chain(writes).collect::<Vec<_>>().join(" ")
    };
    commands(text).unwrap().into_iter().map(command).collect()
}

#[test]
fn every_command_of_a_text_is_listed_after_quotes_are_taken_away() {
    let check = |text: &str, expect: &[&str]| assert_eq!(listed(text), expect, "{text}");
    check("ls -la", &["ls -la"]);
    check("git log; touch X", &["git log", "touch X"]);
    check("a && b || c | d & e\nf", &["a", "b", "c", "d", "e", "f"]);
    check("git log $(touch X)", &["touch X", "git log $(touch X)*"]);
    check("git log `touch X`", &["touch X", "git log $(touch X)*"]);
    check("echo \"$(touch X)\"", &["touch X", "echo $(touch X)*"]);
    check("git log > X", &["git log >X"]);
    check("git log>X 2>&1 </dev/null", &["git log >X"]);
    check("ls 2>/dev/null", &["ls"]);
    check("printf '%s\\n' 'a | b' \"c && d\" '$HOME' 'it'\\''s'", &["printf %s\\n a | b c && d $HOME it's"]);
    check("g\"i\"t p'us'h", &["git push"]);
    check("r\\m x", &["rm x"]);
    check("r\\\nm x", &["rm x"]);
    check("(cd a; rm b)", &["cd a", "rm b"]);
    check("{ a; b; } > c", &["a", "b", " >c"].map(str::trim_start));
    check("! grep x y", &["grep x y"]);
    check("for f in *.rs; do wc -l \"$f\"; done", &["wc -l $f*"]);
    check("if test -f a; then rm a; else echo b; fi", &["test -f a", "rm a", "echo b"]);
    check("# rm x\nls # rm y", &["ls"]);
    check("cat <<'EOF'\nrm $(x)\nEOF\nls", &["cat", "ls"]);
    check("cat <<-EOF | sh2\n\tplain\n\tEOF", &["cat", "sh2"]);
    check("echo a#b", &["echo a#b"]);
}

#[test]
fn what_shells_read_differently_or_only_know_when_they_run_is_refused() {
    for text in [
        "cat <(ls)",
        "ls &> x",
        "ls |& cat",
        "echo $'a'",
        "cat <<< x",
        "echo ${x:-y}",
        "echo $((1))",
        "case a in a) ls;; esac",
        "f() { rm x; }",
        "function f { ls; }",
        "[[ -f x ]]",
        "echo 'a",
        "echo \"a",
        "ls )",
        "ls &&",
        "; ls",
        "a=(1 2)",
        "echo a\rrm x",
        "cat <<EOF\n$(rm x)\nEOF",
        "cat <<EOF\nno end",
        "echo \u{202e}x",
        "ls >&file",
        "((1))",
    ] {
        assert!(commands(text).is_err(), "{text:?}: {:?}", commands(text));
    }
    assert!(commands(&"(".repeat(100)).is_err());
    assert!(commands(&"$(".repeat(5000)).is_err());
    assert!(commands(&"true;".repeat(3000)).is_err());
    assert!(commands(&format!("{}true", "! ".repeat(40_000))).is_ok());
    assert!(commands(&"if (".repeat(20_000)).is_err());
}

proptest::proptest! {
    #[test]
    fn no_text_breaks_the_reader(text in "[a-z$(){}`'\"<>|&;\\\\ \n#=*!-]{0,60}") {
        let _ = commands(&text);
    }
}

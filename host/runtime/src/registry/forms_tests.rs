//! Does a form allow what it lists and nothing else?

use super::*;

fn fits(form: &str, command: &str) -> bool {
    let forms = Forms::parse(&[form.to_owned()]).unwrap();
    let word = |text| Argument { text, expands: str::contains(text, ['*', '$']) };
    forms.allow(&command.split(' ').map(word).collect::<Vec<_>>())
}

#[test]
fn a_form_allows_its_options_and_no_other_one() {
    let log = "git log [--oneline -n -# -p --format --stat]";
    for command in [
        "git log",
        "git log -3",
        "git log -n 3",
        "git log -n3",
        "git log --format=%H",
        "git log -p main src",
        "git log -- --output=x",
        "git log src/*.rs",
    ] {
        assert!(fits(log, command), "{command}");
    }
    for command in [
        "git log --output=x",
        "git log --outp=x",
        "git log -O",
        "git log *",
        "git log $x",
        "git push",
        "git logs",
        "git log -nx",
    ] {
        assert!(!fits(log, command), "{command}");
    }
    assert!(fits("ls", "ls -la --anything") && fits("ls", "ls *"));
    assert!(fits("git branch [-a -v] only", "git branch -av") && !fits("git branch [-a -v] only", "git branch new"));
    assert!(fits("pwd [] only", "pwd") && !fits("pwd [] only", "pwd x"));
}

#[test]
fn a_form_that_is_none_says_why() {
    for form in ["", " [-a]", "ls [-a", "ls [a]", "ls [-a] never"] {
        assert!(Forms::parse(&[form.to_owned()]).is_err(), "{form}");
    }
}

//! Can somebody who trusts nobody check the records? Exports, signatures, checkpoints, damage, and what is in no file.

use crate::support::guest::Guest;
use crate::support::house::{House, call};
use crate::support::{block_on, records};
use hermes_runtime::injection::audit::{Reader, Verification, export};
use hermes_runtime::signed::SignedHead;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Secrets that the embedding program names: one with every sign that is escaped somewhere, one of several lines.
const SECRETS: [&str; 2] =
    ["pa55/w+rd=\"of\\the&house", "first line of the key 0123456789\nsecond line of the key 9876543210"];

fn guests(house: &House) {
    Guest { name: "effect".into(), effect: "write".into(), ..Guest::default() }.put(house);
    Guest::default().put(house);
    let fails = "(call $fail (i32.const 5) (local.get $args) (local.get $args_len))";
    Guest { name: "fails".into(), ..Guest::that(fails) }.put(house);
    let logs = "(call $log (i32.const 1) (local.get $args) (local.get $args_len)) (call $ok (local.get $args) (local.get $args_len))";
    Guest { name: "logs".into(), ..Guest::that(logs) }.put(house);
    Guest { name: "prints".into(), ..Guest::that("(call $text (local.get $args) (local.get $args_len))") }.put(house);
}

fn five_calls(house: &House) {
    let runtime = house.start(house.config());
    for number in 0..5 {
        assert_eq!(block_on(runtime.call(call("effect", json!({ "n": number })))).envelope.code(), 200);
    }
}

fn exported(state_dir: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    Reader::open(state_dir).unwrap().export(&mut bytes).unwrap();
    bytes
}

fn verify(bytes: &[u8], checkpoint: Option<&SignedHead>) -> Option<Verification> {
    export::verify(bytes, checkpoint).ok()
}

#[test]
fn an_export_is_checked_without_its_journal_and_every_flipped_byte_is_found() {
    let house = House::empty();
    guests(&house);
    five_calls(&house);
    let bytes = exported(&house.path("state"));
    let whole = verify(&bytes, None).unwrap();
    assert_eq!((whole.records, &whole.broken), (10, &None));
    assert!(whole.signed_by.is_some());
    for at in (0..bytes.len()).step_by(37) {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1;
        let found = verify(&flipped, None);
        assert!(found.as_ref().is_none_or(|found| found.broken.is_some()), "byte {at}: {found:?}");
    }
}

#[test]
fn a_line_that_was_taken_out_or_put_elsewhere_is_found() {
    let house = House::empty();
    guests(&house);
    five_calls(&house);
    let text = String::from_utf8(exported(&house.path("state"))).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let broken = |lines: &[&str]| {
        verify(format!("{}\n", lines.join("\n")).as_bytes(), None).is_none_or(|found| found.broken.is_some())
    };
    assert!(!broken(&lines));
    for at in 0..lines.len() {
        let mut without = lines.clone();
        without.remove(at);
        assert!(broken(&without), "line {at} taken out");
    }
    for at in 1..lines.len() - 1 {
        let mut swapped = lines.clone();
        swapped.swap(at, at + 1);
        assert!(broken(&swapped), "line {at} put elsewhere");
    }
    let mut cut = lines.clone();
    cut.drain(5..lines.len() - 1);
    assert!(broken(&cut), "the end is signed");
}

/// Who may write the journal and has kept an older signed end can put it back; a checkpoint elsewhere tells.
#[test]
fn a_checkpoint_kept_elsewhere_finds_a_journal_that_was_set_back() {
    let house = House::empty();
    guests(&house);
    five_calls(&house);
    let state_dir = house.path("state");
    let old = exported(&state_dir);
    five_calls(&house);
    let checkpoint = Reader::open(&state_dir).unwrap().head().unwrap().unwrap();
    assert_eq!(verify(&old, None).unwrap().broken, None);
    let found = verify(&old, Some(&checkpoint)).unwrap().broken.unwrap();
    assert!(found.1.contains("checkpoint"), "{found:?}");
    assert_eq!(Reader::open(&state_dir).unwrap().verify_against(Some(&checkpoint)).unwrap().broken, None);
    let forged = SignedHead { seq: 3, ..checkpoint };
    assert!(verify(&old, Some(&forged)).unwrap().broken.is_some(), "a checkpoint that nobody signed");
}

#[test]
fn records_taken_from_the_end_of_the_journal_are_missed() {
    let house = House::empty();
    guests(&house);
    five_calls(&house);
    let state_dir = house.path("state");
    let journal = rusqlite::Connection::open(state_dir.join("journal.db")).unwrap();
    journal.execute_batch("DELETE FROM records WHERE seq > 8").unwrap();
    let broken = Reader::open(&state_dir).unwrap().verify().unwrap().broken.unwrap();
    assert_eq!(broken.0, 9);
    // Nobody without the key signs the new end.
    journal.execute_batch("UPDATE head SET seq = 8, hash = (SELECT hash FROM records WHERE seq = 8)").unwrap();
    assert!(Reader::open(&state_dir).unwrap().verify().unwrap().broken.is_some());
}

#[test]
fn a_damaged_file_is_a_finding_and_no_crash() {
    let house = House::empty();
    guests(&house);
    five_calls(&house);
    let state_dir = house.path("state");
    rusqlite::Connection::open(state_dir.join("journal.db"))
        .unwrap()
        .execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")
        .unwrap();
    let whole = std::fs::read(state_dir.join("journal.db")).unwrap();
    let mut silent = 0;
    for at in (0..whole.len()).step_by(509) {
        let mut damaged = whole.clone();
        for byte in damaged.iter_mut().skip(at).take(16) {
            *byte ^= 0x55;
        }
        std::fs::write(state_dir.join("journal.db"), &damaged).unwrap();
        match Reader::open(&state_dir).and_then(|reader| reader.verify()) {
            Ok(verification) if verification.broken.is_none() => {
                // Free space and side tables hold no record: what is read of the records is what was written.
                assert_eq!(verification.records, 10, "at {at}");
                silent += 1;
            }
            Ok(_) | Err(_) => {}
        }
    }
    assert!(silent < whole.len() / 509, "no damage was found at all");
}

#[test]
fn a_call_whose_process_ended_gets_an_outcome_that_says_so() {
    let house = House::empty();
    guests(&house);
    five_calls(&house);
    let state_dir = house.path("state");
    let (call_id, intents) = {
        let journal = rusqlite::Connection::open(state_dir.join("journal.db")).unwrap();
        // As if the last outcome had never been written, which is how a killed process leaves it.
        let call_id: String =
            journal.query_row("SELECT call_id FROM records WHERE seq = 9", (), |row| row.get(0)).unwrap();
        journal.execute_batch("DELETE FROM records WHERE seq = 10; DELETE FROM head; INSERT INTO open_intents (seq, call_id) SELECT seq, call_id FROM records WHERE seq = 9").unwrap();
        let intents: i64 = journal.query_row("SELECT count(*) FROM open_intents", (), |row| row.get(0)).unwrap();
        (call_id, intents)
    };
    assert_eq!(intents, 1);
    assert_eq!(records::verified(&state_dir).unknown, std::slice::from_ref(&call_id));
    let runtime = house.start(house.config());
    assert!(block_on(runtime.flush()));
    let (intent, outcome) = records::of_call(&state_dir, &call_id);
    assert!(intent.is_some());
    assert_eq!(outcome.error.unwrap().reason.as_deref(), Some("outcome_unknown"));
    let verification = records::verified(&state_dir);
    assert_eq!(verification.unknown, [call_id], "it stays unknown");
    assert_eq!(Reader::open(&state_dir).unwrap().incidents(10).unwrap().len(), 1);
}

/// Every byte that the runtime left in its folder.
fn all_bytes(folder: &Path, found: &mut Vec<(PathBuf, Vec<u8>)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => all_bytes(&path, found),
            false => found.push((path.clone(), std::fs::read(&path).unwrap())),
        }
    }
}

#[test]
fn a_configured_secret_is_in_no_answer_and_in_no_file_however_it_comes() {
    let house = House::empty();
    guests(&house);
    let config = SECRETS.iter().fold(house.config(), |config, secret| config.mask(*secret));
    let runtime = house.start(config);
    let mut answers = String::new();
    for secret in SECRETS {
        let coloured = format!("{}\x1b[31m{}", &secret[..9], &secret[9..]);
        for text in [secret.to_owned(), coloured, format!("x{secret}"), secret.replace('\n', "\r\n")] {
            for tool in ["probe", "effect", "fails", "logs", "prints"] {
                let answer = block_on(runtime.call(call(tool, json!({ "said": text, "n": [{ "deep": text }] }))));
                answers.push_str(&serde_json::to_string(&answer.envelope).unwrap());
            }
        }
    }
    assert!(block_on(runtime.flush()));
    drop(runtime);
    let parts = ["w+rd=", "first line of the key", "second line of the key"];
    for part in parts {
        assert!(!answers.contains(part), "{part} in an answer");
    }
    let mut files = Vec::new();
    all_bytes(&house.path("state"), &mut files);
    assert!(files.len() >= 3);
    for (file, bytes) in files {
        for part in parts {
            let found = bytes.windows(part.len()).any(|window| window == part.as_bytes());
            assert!(!found, "{part} in {}", file.display());
        }
    }
    records::verified(&house.path("state"));
}

#[test]
fn keys_are_their_owners_alone_and_part_of_no_grant() {
    use std::os::unix::fs::PermissionsExt;
    let house = House::empty();
    guests(&house);
    five_calls(&house);
    for key in ["audit.key", "mask.key"] {
        let mode = std::fs::metadata(house.path("state").join(key)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{key}");
    }
}

//! Does a recording play what was recorded, and nothing else?

use super::*;

fn recorded(answers: &[(&'static str, &str, &str)], most: usize) -> Result<Vec<Entry>, &'static str> {
    let mut tape = Tape::record(most);
    for (name, args, answer) in answers {
        assert_eq!(tape.next::<String>(name, args).unwrap(), None);
        tape.keep(name, answer).unwrap();
    }
    let Tape::Recording(recording) = tape else { panic!("it records") };
    recording.entries(&[])
}

#[test]
fn what_is_recorded_is_answered_again_in_order_and_nothing_else() {
    let entries = recorded(&[("a.one", "x", "1"), ("a.two", "y", "2")], 1000).unwrap();
    let mut tape = Tape::play(entries.clone(), true);
    assert_eq!(tape.next::<String>("a.one", &"x").unwrap().as_deref(), Some("1"));
    assert!(tape.next::<String>("a.two", &"other").is_err());
    let Tape::Playing(playing) = &tape else { panic!("it plays") };
    assert_eq!(playing.divergence.as_deref(), Some("crossing 2: `a.two` is given something else"));
    let mut tape = Tape::play(entries.clone(), true);
    assert!(tape.next::<String>("a.two", &"y").is_err(), "out of order");
    let mut tape = Tape::play(entries, false);
    assert_eq!(tape.next::<String>("a.one", &"a mask").unwrap().as_deref(), Some("1"));
    assert!(tape.next::<String>("a.one", &"y").is_err(), "another crossing is one also where contents are masked");
}

#[test]
fn past_its_size_a_recording_is_none() {
    assert!(recorded(&[("a.one", "x", "1")], 10).is_err());
    let fits = recorded(&[("a.one", "x", "1")], ENTRY + 10).unwrap();
    let tape = || Recording { entries: Vec::new(), left: ENTRY + 10, asked: Digest::of(b""), lost: None };
    assert_eq!(tape().entries(&fits), Ok(Vec::new()));
    assert_eq!(tape().entries(&[fits.clone(), fits].concat()), Err(TOO_MUCH));
}

#[test]
fn a_cassette_comes_back_as_it_was_kept() {
    let asked = Asked {
        tool: "t".into(),
        args: "{}".into(),
        call_id: "1".into(),
        attempt: 1,
        deadline_ms: 5,
        task: Some("a task".into()),
    };
    let entries = recorded(&[("a.one", "x", "1")], 1000).unwrap();
    let cassette = Cassette {
        asked,
        seed: [7; 32],
        times: vec![1, 2],
        requests: entries.clone(),
        entries,
        outcome: Digest::of(b"x"),
    };
    let mut recorded = Recorded::new(Cassette { outcome: Digest::NONE, ..cassette.clone() }, b"x".to_vec());
    assert_eq!(Cassette::decode(&recorded.encoded().unwrap()).as_ref(), Some(&cassette), "when it is wanted");
    recorded.encode();
    assert_eq!(Cassette::decode(&recorded.encoded().unwrap()), Some(cassette), "before it is wanted");
}

#[test]
fn times_are_given_again_as_they_were_seen() {
    let times = Times::default();
    assert_eq!((times.look(|| 5), times.look(|| 7)), (5, 7));
    let again = Times::play(times.seen().unwrap());
    assert_eq!((again.look(|| 0), again.look(|| 0), again.look(|| 0)), (5, 7, 7));
}

//! What does the fuzzer have to find? Tools as people write them, each with one fault that most inputs do not meet.
//! Must not be of use for anything else.

use hermes_sdk::{Call, Expectation, Files, Result, plugin, tool};
use serde_json::{Value, json};

/// Show the beginning of a text.
///
/// The fault: it cuts bytes where a letter may go on.
#[tool]
fn trap(
    #[arg(max_length = 1000)] text: String,
    /// How many bytes of it.
    #[arg(min = 0, max = 100)]
    most: u32,
) -> Value {
    let most = text.len().min(most as usize);
    json!({ "start": &text[..most] })
}

/// Count how many steps it takes from 0 to an end.
///
/// The fault: with a step of 0 it never gets there.
#[tool]
fn hang(#[arg(min = 0, max = 1000)] end: u32, #[arg(min = 0, max = 1000)] step: u32) -> Value {
    let (mut at, mut steps) = (0, 0_u64);
    while at < end {
        at = std::hint::black_box(at.saturating_add(step));
        steps += 1;
    }
    json!({ "steps": steps })
}

/// Count how many letters of a text come again.
///
/// The fault: it compares each with each.
#[tool]
fn fuel(#[arg(max_length = 100_000)] text: String) -> Value {
    let letters: Vec<char> = text.chars().collect();
    let again = |index: usize| letters[index + 1..].iter().filter(|later| **later == letters[index]).count();
    json!({ "again": (0..letters.len()).map(again).sum::<usize>() })
}

/// Count the fields of a board.
///
/// The fault: it makes them to count them, however many there are.
#[tool]
fn memory(#[arg(min = 1, max = 40_000)] width: u32, #[arg(min = 1, max = 40_000)] height: u32) -> Value {
    let fields = std::hint::black_box(vec![0_u8; width as usize * height as usize]);
    json!({ "fields": fields.len() })
}

/// Say how deep a text is in brackets.
///
/// The fault: it goes down with each of them.
#[tool]
fn stack(#[arg(max_length = 100_000)] text: String) -> Value {
    fn depth(rest: &[u8]) -> usize {
        match rest {
            // Nothing makes a loop of it.
            [b'(', rest @ ..] => 1 + std::hint::black_box(depth(std::hint::black_box(rest))),
            _ => 0,
        }
    }
    json!({ "depth": depth(text.as_bytes()) })
}

/// Say the mean of some numbers.
///
/// The fault: of none there is no mean, and JSON has no word for that.
#[tool]
fn output(#[arg(max_items = 100)] numbers: Vec<f64>) -> Value {
    let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
    json!({ "mean": mean })
}

/// Read a setting.
///
/// The fault: without a name it reads the machine's own.
#[tool]
fn outside_grant(#[arg(max_length = 100)] name: String, files: &Files) -> Result<Value> {
    let path = match name.trim() {
        "" => "/etc/settings".to_owned(),
        name => format!("/workspace/{}", name.replace('/', "_")),
    };
    Ok(json!({ "set": files.read_text(&path, 1000).map_or_else(
        |failure| if failure.reason.as_deref() == Some("path_out_of_bounds") { Err(failure) } else { Ok(String::new()) },
        Ok,
    )? }))
}

/// Draw one of some names.
///
/// The fault: it draws by what is different in each call.
#[tool]
fn nondeterminism(#[arg(min_items = 1, max_items = 100)] names: Vec<String>, call: &Call) -> Value {
    let drawn = call.id.bytes().map(usize::from).sum::<usize>() % names.len();
    json!({ "place": drawn })
}

/// Sort the lines of a text.
///
/// The fault: for more than one line it takes a file, and leaves it there.
#[tool]
fn leak(#[arg(max_length = 1000)] text: String, files: &Files, call: &Call) -> Value {
    let mut lines: Vec<&str> = text.lines().collect();
    if lines.len() > 1 {
        // Where nothing can be written, it does without.
        drop(files.write(&format!("/workspace/sort-{}", call.id), text.as_bytes(), &Expectation::Any));
    }
    lines.sort_unstable();
    json!({ "lines": lines })
}

/// Read an order.
///
/// The fault: it breaks off at one word, which it looks at letter by letter.
#[tool]
fn letters(#[arg(max_length = 100)] text: String) -> Value {
    let mut letters = text.bytes();
    let mut is_next = |letter: u8| std::hint::black_box(letters.next()) == Some(letter);
    // Nothing makes one comparison of it.
    if is_next(b'z') && is_next(b'q') && is_next(b'k') && is_next(b'w') {
        panic!("nobody has thought of this word");
    }
    json!({ "length": text.len() })
}

/// Read an order.
///
/// The fault: it breaks off at one word, which it compares at once.
#[tool]
fn word(#[arg(max_length = 100)] text: String) -> Value {
    if text == "vxjq" {
        panic!("nobody has thought of this word");
    }
    json!({ "length": text.len() })
}

/// Read a number.
///
/// The fault: it breaks off at one of four thousand million.
#[tool]
fn number(number: u32) -> Value {
    if number == 0xa35f_17c9 {
        panic!("nobody has thought of this number");
    }
    json!({ "half": number / 2 })
}

/// Do the same without a fault.
#[tool]
fn sound(
    #[arg(max_length = 1000)] text: String,
    #[arg(min = 0, max = 100)] most: u32,
    numbers: Vec<f64>,
    name: Option<String>,
    files: &Files,
) -> Result<Value> {
    let start: String = text.chars().take(most as usize).collect();
    let mean = (!numbers.is_empty()).then(|| numbers.iter().map(|number| number / numbers.len() as f64).sum::<f64>());
    let there = name.is_some_and(|name| files.stat(&format!("/workspace/{}", name.replace('/', "_"))).is_ok());
    Ok(json!({ "start": start, "mean": mean.filter(|mean| mean.is_finite()).unwrap_or_default(), "there": there }))
}

plugin! {
    name: "faulty",
    tools: [trap, hang, fuel, memory, stack, output, outside_grant, nondeterminism, leak, letters, word, number, sound],
}

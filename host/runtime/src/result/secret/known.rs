//! In which forms can a configured secret come back? As it is, in JSON, in a URL, in base64 or hexadecimal, in lines.
//! Must not know what is done where one is found.

use aho_corasick::{AhoCorasick, MatchKind};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use std::collections::BTreeSet;
use std::ops::Range;

/// A form shorter than this would be found everywhere.
const SHORTEST: usize = 6;
/// A line of a secret of several lines counts from this length on.
const LINE: usize = 16;
/// Columns at which base64 is broken by those who break it.
const COLUMNS: [usize; 2] = [64, 76];

/// The secrets that configuration names, in every form. Lifetime: the runtime.
#[derive(Debug)]
pub(super) struct Known {
    forms: Option<AhoCorasick>,
}

impl Known {
    pub(super) fn new<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Known {
        let mut forms = BTreeSet::new();
        secrets.into_iter().for_each(|secret| add(secret, &mut forms));
        forms.retain(|form| form.len() >= SHORTEST);
        let finder = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&forms);
        Known { forms: finder.ok().filter(|_| !forms.is_empty()) }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.forms.is_none()
    }

    pub(super) fn find<'a>(&'a self, text: &'a str) -> impl Iterator<Item = Range<usize>> + 'a {
        self.forms.iter().flat_map(move |forms| forms.find_iter(text)).map(|found| found.range())
    }
}

fn add(secret: &str, forms: &mut BTreeSet<String>) {
    let secret = secret.trim();
    add_encoded(secret, forms);
    for line in secret.lines().map(str::trim).filter(|line| line.len() >= LINE && !line.starts_with("-----")) {
        add_encoded(line, forms);
    }
    // `user:password` is what an `Authorization: Basic` header encodes, and then the password alone may come back.
    if let Some((_, password)) = secret.split_once(':').filter(|(user, _)| !user.contains(['/', ' ', '\n'])) {
        add_encoded(password, forms);
    }
}

fn add_encoded(secret: &str, forms: &mut BTreeSet<String>) {
    let mut put = |form: String| {
        forms.insert(form);
    };
    put(secret.to_owned());
    let json = serde_json::to_string(secret).unwrap_or_default();
    let json = json.trim_matches('"');
    put(json.to_owned());
    put(json.replace('/', "\\/"));
    put(serde_json::to_string(json).unwrap_or_default().trim_matches('"').to_owned());
    put(percent(secret, false));
    put(percent(secret, true));
    put(secret.bytes().map(|byte| format!("{byte:02x}")).collect());
    put(secret.bytes().map(|byte| format!("{byte:02X}")).collect());
    put(secret.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;"));
    put(secret.replace('\'', "'\\''"));
    for text in [secret.to_owned(), format!("{secret}\n")] {
        based(text.as_bytes(), &mut put);
    }
}

/// In base64 a text has three forms, by where in a group of three bytes it begins; its first and last characters mix
/// with what stands around it.
fn based(bytes: &[u8], put: &mut impl FnMut(String)) {
    for engine in [STANDARD, URL_SAFE] {
        for before in 0..3 {
            let mut padded = vec![0; before];
            padded.extend_from_slice(bytes);
            let encoded = engine.encode(&padded);
            let encoded = encoded.trim_end_matches('=');
            let from = [0, 2, 3][before].min(encoded.len());
            let mixed = usize::from(!padded.len().is_multiple_of(3));
            let inner = &encoded[from..encoded.len().saturating_sub(mixed).max(from)];
            // What remains must still be too much to be there by chance.
            if inner.len() >= 10 {
                put(inner.to_owned());
                for columns in COLUMNS {
                    inner.as_bytes().chunks(columns).filter(|line| line.len() >= 2 * LINE).for_each(|line| {
                        put(String::from_utf8_lossy(line).into_owned());
                    });
                }
            }
        }
    }
}

fn percent(text: &str, lower: bool) -> String {
    let escape = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        byte if lower => format!("%{byte:02x}"),
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(escape).collect()
}

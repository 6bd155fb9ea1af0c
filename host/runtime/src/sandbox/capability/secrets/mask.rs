//! Where in an answer is a secret? Finds it as it is and in the forms in which servers write it, also when it comes in
//! pieces, and puts its name there instead. Pure.

use super::Secret;
use aho_corasick::{AhoCorasick, MatchKind};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};

/// Shortest part of an encoded form that is looked for, in bytes; a shorter one would be found by chance.
const SHORTEST_FORM: usize = 8;

/// Finds some secrets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mask {
    forms: Option<AhoCorasick>,
    /// What stands for each form.
    names: Vec<String>,
    longest: usize,
}

impl Mask {
    pub(crate) fn of(secrets: &[(String, Secret)]) -> Mask {
        let mut forms: Vec<(Vec<u8>, String)> = Vec::new();
        for (name, secret) in secrets {
            forms.extend(forms_of(secret.bytes()).into_iter().map(|form| (form, format!("[secret {name}]"))));
        }
        forms.sort();
        forms.dedup_by(|a, b| a.0 == b.0);
        let longest = forms.iter().map(|(form, _)| form.len()).max().unwrap_or(0);
        let automaton =
            AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(forms.iter().map(|(form, _)| form));
        let names = forms.into_iter().map(|(_, name)| name).collect();
        Mask { forms: automaton.ok().filter(|_| longest > 0), names, longest }
    }

    /// Whether there is nothing to look for.
    pub(crate) fn is_empty(&self) -> bool {
        self.forms.is_none()
    }

    /// All of a text, masked.
    pub(crate) fn whole(&self, text: &[u8]) -> Vec<u8> {
        let mut pieces = Pieces::new(self.clone());
        let mut out = pieces.push(text);
        out.extend(pieces.finish());
        out
    }
}

/// The forms in which a secret may come back.
fn forms_of(secret: &[u8]) -> Vec<Vec<u8>> {
    let mut forms = vec![secret.to_vec()];
    if let Ok(text) = std::str::from_utf8(secret) {
        let json = serde_json::Value::from(text).to_string();
        forms.push(json.as_bytes()[1..json.len() - 1].to_vec());
        forms.push(json[1..json.len() - 1].replace('/', "\\/").into_bytes());
        let html = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
        forms.push(html.into_bytes());
    }
    forms.extend([percent(secret, "0123456789ABCDEF"), percent(secret, "0123456789abcdef")]);
    forms.extend([hex(secret, "0123456789ABCDEF"), hex(secret, "0123456789abcdef")]);
    for before in 0..3 {
        forms.extend([base64(secret, before, &STANDARD), base64(secret, before, &URL_SAFE)]);
    }
    forms.retain(|form| form.len() >= SHORTEST_FORM || form == secret);
    forms
}

fn hex(bytes: &[u8], digits: &str) -> Vec<u8> {
    let digits = digits.as_bytes();
    bytes.iter().flat_map(|byte| [digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]]).collect()
}

fn percent(bytes: &[u8], digits: &str) -> Vec<u8> {
    let digits = digits.as_bytes();
    let encode = |byte: &u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => vec![*byte],
        _ => vec![b'%', digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]],
    };
    bytes.iter().flat_map(encode).collect()
}

/// The characters that a secret always has in base64 when so many bytes, of unknown value, stand before it.
fn base64(secret: &[u8], before: usize, engine: &impl Engine) -> Vec<u8> {
    let bytes = [&[0; 2][..before], secret].concat();
    let text = engine.encode(&bytes);
    let unknown_before = [0, 2, 3][before];
    let whole = bytes.len() * 8 / 6;
    text.as_bytes()[unknown_before..whole.max(unknown_before)].to_vec()
}

/// Masks a stream that comes in pieces. What could be the beginning of a secret is held back until more is known.
#[derive(Debug)]
pub(crate) struct Pieces {
    mask: Mask,
    held: Vec<u8>,
}

impl Pieces {
    pub(crate) fn new(mask: Mask) -> Pieces {
        Pieces { mask, held: Vec::new() }
    }

    /// Takes a piece and returns what can be shown.
    pub(crate) fn push(&mut self, piece: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(piece);
        // A form that begins before this place is here as a whole.
        let certain = (self.held.len() + 1).saturating_sub(self.mask.longest.max(1));
        self.show(certain)
    }

    /// The rest, at the end.
    pub(crate) fn finish(&mut self) -> Vec<u8> {
        self.show(self.held.len())
    }

    fn show(&mut self, certain: usize) -> Vec<u8> {
        let mut out = Vec::with_capacity(certain);
        let mut shown = 0;
        if let Some(forms) = &self.mask.forms {
            for found in forms.find_iter(&self.held) {
                if found.start() >= certain {
                    break;
                }
                out.extend_from_slice(&self.held[shown..found.start()]);
                out.extend_from_slice(self.mask.names[found.pattern().as_usize()].as_bytes());
                shown = found.end();
            }
        }
        let until = certain.max(shown);
        out.extend_from_slice(&self.held[shown..until]);
        self.held.drain(..until);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECRET: &str = "s3cr3t/\"Wert\"+42";

    fn mask() -> Mask {
        Mask::of(&[("api".into(), Secret(SECRET.as_bytes().into()))])
    }

    #[test]
    fn a_secret_is_found_in_every_form() {
        let json = serde_json::to_string(SECRET).unwrap();
        let forms = [
            SECRET.to_owned(),
            json,
            "s3cr3t%2F%22Wert%22%2B42".into(),
            "s3cr3t%2f%22Wert%22%2b42".into(),
            STANDARD.encode(SECRET),
            STANDARD.encode(format!("u:{SECRET}")),
            URL_SAFE.encode(format!("me:{SECRET}\n")),
            String::from_utf8(hex(SECRET.as_bytes(), "0123456789abcdef")).unwrap(),
        ];
        for form in forms {
            let shown = String::from_utf8(mask().whole(format!("<{form}>").as_bytes())).unwrap();
            assert!(shown.contains("[secret api]"), "{form}: {shown}");
            assert!(!shown.contains("Wert") && !shown.contains("V2VydC"), "{form}: {shown}");
        }
        assert_eq!(mask().whole(b"nothing here"), b"nothing here");
    }

    proptest! {
        #[test]
        fn a_secret_in_pieces_never_gets_through(before in "[a-z]{0,40}", after in "[a-z]{0,40}", size in 1_usize..50) {
            let text = format!("{before}{SECRET}{after}");
            let mut pieces = Pieces::new(mask());
            let mut shown = Vec::new();
            for piece in text.as_bytes().chunks(size) {
                shown.extend(pieces.push(piece));
            }
            shown.extend(pieces.finish());
            prop_assert_eq!(String::from_utf8(shown).unwrap(), format!("{before}[secret api]{after}"));
        }
    }
}

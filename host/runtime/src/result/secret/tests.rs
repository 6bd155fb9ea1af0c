//! Are secrets masked, in every form and by their look, and nothing else?

use super::*;
use base64::Engine;
use proptest::prelude::*;
use serde_json::json;

const SECRETS: [&str; 3] = [
    "S3cr3t/of+the=house\"1",
    "-----BEGIN OPENSSH KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAA\nc2Vjb25kIGxpbmUgb2YgdGhlIGtleSBoZXJl\n-----END OPENSSH KEY-----",
    "admin:Tr0ub4dor&3 with spaces",
];

fn masks() -> Masks {
    Masks::new([7; 32], SECRETS)
}

fn is_masked(text: &str, secret: &str) {
    let (masked, count) = masks().text(text);
    assert!(count > 0 && !masked.contains(secret), "{masked}");
}

#[test]
fn a_configured_secret_is_masked_in_every_form() {
    let secret = SECRETS[0];
    let based = base64::engine::general_purpose::STANDARD.encode(format!("x{secret}yz"));
    let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
    let forms = [
        secret.to_owned(),
        format!("postgres://user:{secret}@db"),
        serde_json::to_string(secret).unwrap(),
        "S3cr3t%2Fof%2Bthe%3Dhouse%221".to_owned(),
        hex.clone(),
        "S3cr3t\x1b[31m/of+the=\x1b[0mhouse\"1".to_owned(),
    ];
    for form in forms {
        let (masked, count) = masks().text(&form);
        assert_eq!(count, 1, "{masked}");
        assert!(!masked.contains("of+the") && !masked.contains("S3cr3t") && !masked.contains(&hex), "{masked}");
    }
    is_masked(&based, &based[4..24]);
    is_masked(&format!("key: {}", SECRETS[1]), "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAA");
    is_masked("c2Vjb25kIGxpbmUgb2YgdGhlIGtleSBoZXJl", "c2Vjb25kIGxpbmUg");
    is_masked("the password is Tr0ub4dor&3 with spaces", "Tr0ub4dor");
}

#[test]
fn the_same_secret_has_the_same_mask_and_another_key_another_one() {
    let of = |key: u8| Masks::new([key; 32], SECRETS).text(SECRETS[0]).0.into_owned();
    assert_eq!(of(1), of(1));
    assert_ne!(of(1), of(2));
}

#[test]
fn a_mask_that_comes_back_is_known_and_one_that_was_made_up_is_text() {
    let masks = masks();
    let (masked, _) = masks.text(SECRETS[0]);
    let refused = masks.refuse_written_back(&json!({ "content": masked }).to_string()).unwrap_err();
    assert_eq!((refused.code, refused.kind), (409, Kind::Conflict));
    let made_up = "[masked:configured:0123456789abcdef0123456789abcdef]";
    assert!(masks.refuse_written_back(&json!({ "content": made_up }).to_string()).is_ok());
    assert_eq!(masks.text(&masked).1, 0, "a mask is not masked again");
}

#[test]
fn members_are_masked_by_their_names() {
    let mut value =
        json!({ "user": "a", "password": "hunter2-Xy9!", "nested": [{ "api_key": "9f8a7c6b5d4e3f2a1b0c" }] });
    assert_eq!(masks().value(&mut value), 2);
    assert!(!value.to_string().contains("hunter2") && !value.to_string().contains("9f8a7c"));
    assert_eq!(value["user"], "a");
}

#[test]
fn text_without_secrets_is_not_copied() {
    assert!(matches!(masks().text("fn main() { let token = next_token(); }").0, Cow::Borrowed(_)));
}

proptest! {
    #[test]
    fn a_configured_secret_never_comes_through(before in "\\PC{0,40}", after in "\\PC{0,40}", cut in 1usize..20) {
        let secret = SECRETS[0];
        let plain = format!("{before}{secret}{after}");
        let (masked, _) = masks().text(&plain);
        prop_assert!(!masked.contains(secret));
        let coloured = format!("{before}{}\x1b[1;31m{}{after}", &secret[..cut], &secret[cut..]);
        let (masked, _) = masks().text(&coloured);
        prop_assert!(!masked.contains(&secret[cut..]) || cut > 15);
    }
}

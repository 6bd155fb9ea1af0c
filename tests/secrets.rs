//! How many secrets are masked that nobody configured, and how much that is none? Tokens made up in the forms of sixty
//! services, each in five surroundings, and the outputs of `outputs/`, which hold none.

use crate::support::house::project;
use hermes_runtime::result::secret::Masks;

const LOWER: &str = "abcdefghijklmnopqrstuvwxyz0123456789";
const HEX: &str = "0123456789abcdef";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const ALNUM: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// What a secret looks like: literal text, and runs of an alphabet.
type Form = &'static [(&'static str, Option<(&'static str, usize)>)];

/// One form of each kind; the name is that of the service.
const FORMS: &[(&str, Form)] = &[
    ("aws key id", &[("AKIA", Some((UPPER, 16)))]),
    ("aws secret", &[("aws_secret_access_key = ", Some((BASE64, 40)))]),
    ("github", &[("ghp_", Some((ALNUM, 36)))]),
    ("github app", &[("ghs_", Some((ALNUM, 36)))]),
    ("github fine", &[("github_pat_", Some((ALNUM, 22))), ("_", Some((ALNUM, 59)))]),
    ("gitlab", &[("glpat-", Some((ALNUM, 20)))]),
    ("slack bot", &[("xoxb-", Some(("0123456789", 12))), ("-", Some((ALNUM, 24)))]),
    (
        "slack hook",
        &[("https://hooks.slack.com/services/T", Some((UPPER, 8))), ("/B", Some((UPPER, 8))), ("/", Some((ALNUM, 24)))],
    ),
    ("stripe", &[("sk_live_", Some((ALNUM, 24)))]),
    ("stripe hook", &[("whsec_", Some((ALNUM, 32)))]),
    ("google", &[("AIza", Some((ALNUM, 35)))]),
    ("google oauth", &[("GOCSPX-", Some((ALNUM, 28)))]),
    ("openai", &[("sk-proj-", Some((ALNUM, 48)))]),
    ("anthropic", &[("sk-ant-api03-", Some((ALNUM, 60)))]),
    ("hugging face", &[("hf_", Some((ALNUM, 34)))]),
    ("npm", &[("npm_", Some((ALNUM, 36)))]),
    ("pypi", &[("pypi-AgEIcHlwaS5vcmc", Some((ALNUM, 60)))]),
    ("rubygems", &[("rubygems_", Some((HEX, 48)))]),
    ("docker", &[("dckr_pat_", Some((ALNUM, 27)))]),
    ("sendgrid", &[("SG.", Some((ALNUM, 22))), (".", Some((ALNUM, 43)))]),
    ("twilio", &[("twilio SK", Some((HEX, 32)))]),
    ("telegram", &[("", Some(("123456789", 9))), (":AA", Some((ALNUM, 33)))]),
    ("digitalocean", &[("dop_v1_", Some((HEX, 64)))]),
    ("shopify", &[("shpat_", Some((HEX, 32)))]),
    ("databricks", &[("dapi", Some((HEX, 32)))]),
    ("doppler", &[("dp.pt.", Some((ALNUM, 43)))]),
    ("grafana", &[("glsa_", Some((ALNUM, 32))), ("_", Some((HEX, 8)))]),
    ("linear", &[("lin_api_", Some((ALNUM, 40)))]),
    ("notion", &[("ntn_", Some((ALNUM, 46)))]),
    ("new relic", &[("NRAK-", Some((UPPER, 27)))]),
    ("planetscale", &[("pscale_tkn_", Some((ALNUM, 40)))]),
    ("postman", &[("PMAK-", Some((HEX, 24))), ("-", Some((HEX, 34)))]),
    ("pulumi", &[("pul-", Some((HEX, 40)))]),
    ("vault", &[("hvs.", Some((ALNUM, 90)))]),
    ("terraform", &[("", Some((ALNUM, 14))), (".atlasv1.", Some((ALNUM, 67)))]),
    ("supabase", &[("sbp_", Some((HEX, 40)))]),
    ("netlify", &[("nfp_", Some((ALNUM, 36)))]),
    ("sentry", &[("sntrys_", Some((ALNUM, 60)))]),
    ("tailscale", &[("tskey-auth-", Some((ALNUM, 12))), ("-", Some((ALNUM, 32)))]),
    ("groq", &[("gsk_", Some((ALNUM, 52)))]),
    ("perplexity", &[("pplx-", Some((ALNUM, 48)))]),
    ("replicate", &[("r8_", Some((ALNUM, 37)))]),
    ("figma", &[("figd_", Some((ALNUM, 40)))]),
    ("airtable", &[("pat", Some((ALNUM, 14))), (".", Some((HEX, 64)))]),
    ("atlassian", &[("ATATT3", Some((ALNUM, 180)))]),
    ("azure storage", &[("AccountKey=", Some((BASE64, 86))), ("==", None)]),
    ("dynatrace", &[("dt0c01.", Some((UPPER, 24))), (".", Some((UPPER, 64)))]),
    ("easypost", &[("EZAK", Some((ALNUM, 54)))]),
    ("square", &[("sq0atp-", Some((ALNUM, 22)))]),
    ("mailgun", &[("key-", Some((HEX, 32)))]),
    ("jwt", &[("eyJ", Some((ALNUM, 34))), (".eyJ", Some((ALNUM, 60))), (".", Some((ALNUM, 43)))]),
    ("age", &[("AGE-SECRET-KEY-1", Some((UPPER, 58)))]),
    ("url", &[("postgres://app:", Some((ALNUM, 18))), ("@db.internal:5432/app", None)]),
    ("bearer", &[("Authorization: Bearer ", Some((ALNUM, 40)))]),
    ("password", &[("DB_PASSWORD=", Some((ALNUM, 16)))]),
    ("json key", &[("\"api_key\": \"", Some((LOWER, 32))), ("\"", None)]),
    ("yaml secret", &[("client_secret: ", Some((ALNUM, 40)))]),
    ("netrc", &[("machine a.example login me password ", Some((ALNUM, 14)))]),
    ("bcrypt", &[("$2b$12$", Some((ALNUM, 53)))]),
    ("kubernetes", &[("client-key-data: ", Some((BASE64, 120)))]),
];

/// Numbers that look random and are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below as u64) as usize
    }
}

/// A made-up secret, and its part that nobody may see.
fn made_up(form: Form, numbers: &mut Numbers) -> (String, String) {
    let (mut text, mut secret) = (String::new(), String::new());
    for (literal, run) in form {
        text.push_str(literal);
        let Some((alphabet, length)) = run else { continue };
        let run: String = (0..*length).map(|_| char::from(alphabet.as_bytes()[numbers.next(alphabet.len())])).collect();
        text.push_str(&run);
        if run.len() > secret.len() {
            secret = run;
        }
    }
    (text, secret)
}

#[test]
fn secrets_in_the_forms_of_sixty_services_are_masked() {
    let masks = Masks::new([5; 32], []);
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let (mut all, mut missed) = (0, Vec::new());
    for (name, form) in FORMS {
        for round in 0..5 {
            let (text, secret) = made_up(form, &mut numbers);
            let around = match round {
                0 => text,
                1 => format!("export X={text}\n"),
                2 => format!("2026-11-30 INFO token {text} was used by job 7\nnext line"),
                3 => format!("  \"value\": \"{text}\",\n"),
                _ => format!("curl -H '{text}' https://a.example"),
            };
            all += 1;
            if masks.text(&around).0.contains(&secret) {
                missed.push(format!("{name}: {around}"));
            }
        }
    }
    let recall = 1.0 - missed.len() as f64 / f64::from(all);
    println!("recall {recall:.3} of {all}");
    assert!(recall >= 0.97, "recall {recall:.3}, missed:\n{}", missed.join("\n"));
}

#[test]
fn what_is_no_secret_is_left_alone() {
    let masks = Masks::new([5; 32], []);
    let (mut bytes, mut found) = (0, Vec::new());
    for folder in ["tests/outputs", "host/runtime/src", "host/cli/src", "host/gateway/src", "plugins/file/src", "wit"] {
        for entry in std::fs::read_dir(project().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            bytes += text.len();
            let masked = |line: &&str| masks.text(line).1 > 0;
            found.extend(text.lines().filter(masked).map(|line| format!("{}: {line}", path.display())));
        }
    }
    println!("{} false masks in {bytes} bytes", found.len());
    assert!(found.len() * 500_000 < bytes, "more than one in 500 kB:\n{}", found.join("\n"));
}

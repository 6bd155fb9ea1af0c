//! By what is an operator known again? A cookie that only this process can have written, for the credential that was shown,
//! until a time; and a mark for forms that belongs to one cookie. Pure but for the key, which is random.

use super::Operator;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use http::Request;
use http::header::COOKIE as HEADER;
use sha2::Sha256;
use std::time::Duration;

/// The cookie's name.
pub(super) const COOKIE: &str = "hermes_operator";
/// How long a cookie counts.
pub(super) const LIFE: Duration = Duration::from_secs(8 * 60 * 60);

/// Who sends a request, and by what that is known.
pub(super) enum Entered {
    /// The token came with it.
    Bearer(Operator),
    /// The cookie did, as browsers send it along by themselves.
    Cookie(Operator, String),
}

impl Entered {
    pub(super) fn operator(&self) -> &Operator {
        match self {
            Entered::Bearer(operator) | Entered::Cookie(operator, _) => operator,
        }
    }
}

/// What signs cookies and marks. Lifetime: the server, so that no cookie outlives it.
pub(super) struct Seal(Hmac<Sha256>);

impl Seal {
    pub(super) fn new() -> std::io::Result<Seal> {
        let mut key = [0; 32];
        let mut filled = 0;
        while filled < key.len() {
            filled += rustix::rand::getrandom(&mut key[filled..], rustix::rand::GetRandomFlags::empty())?;
        }
        Seal::with(&key)
    }

    fn with(key: &[u8; 32]) -> std::io::Result<Seal> {
        Hmac::new_from_slice(key).map(Seal).map_err(|_| std::io::ErrorKind::InvalidInput.into())
    }

    /// A cookie for a credential.
    pub(super) fn close(&self, id: &str, now_ms: u64) -> String {
        let until = now_ms.saturating_add(u64::try_from(LIFE.as_millis()).unwrap_or(u64::MAX));
        let said = format!("{}.{until}", URL_SAFE_NO_PAD.encode(id));
        let sign = self.sign("cookie", &said);
        format!("{said}.{sign}")
    }

    /// The credential that a cookie of this process is for, while it counts.
    pub(super) fn open(&self, cookie: &str, now_ms: u64) -> Option<String> {
        let (said, sign) = cookie.rsplit_once('.')?;
        if !self.is_signed("cookie", said, sign) {
            return None;
        }
        let (id, until) = said.split_once('.')?;
        let counts = until.parse::<u64>().is_ok_and(|until| now_ms < until);
        counts.then(|| String::from_utf8(URL_SAFE_NO_PAD.decode(id).ok()?).ok())?
    }

    /// What the page writes into its own forms.
    pub(super) fn mark(&self, cookie: &str) -> String {
        self.sign("mark", cookie)
    }

    /// Whether a form has the mark of its cookie.
    pub(super) fn is_mark(&self, cookie: &str, mark: &str) -> bool {
        self.is_signed("mark", cookie, mark)
    }

    fn over(&self, what: &str, text: &str) -> Hmac<Sha256> {
        let mut mac = self.0.clone();
        mac.update(what.as_bytes());
        mac.update(&[0]);
        mac.update(text.as_bytes());
        mac
    }

    fn sign(&self, what: &str, text: &str) -> String {
        URL_SAFE_NO_PAD.encode(self.over(what, text).finalize().into_bytes())
    }

    /// Compared in a time that says nothing about how much of it is right.
    fn is_signed(&self, what: &str, text: &str, sign: &str) -> bool {
        let sign = URL_SAFE_NO_PAD.decode(sign).unwrap_or_default();
        self.over(what, text).verify_slice(&sign).is_ok()
    }
}

/// The cookie that a request brings. With two of that name nobody knows whose it is.
pub(super) fn cookie<B>(request: &Request<B>) -> Option<String> {
    let headers = request.headers().get_all(HEADER).iter().filter_map(|header| header.to_str().ok());
    let pairs = headers.flat_map(|header| header.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let mut own = pairs.filter(|(name, _)| *name == COOKIE).map(|(_, value)| value.to_owned());
    match (own.next(), own.next()) {
        (Some(cookie), None) => Some(cookie),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_counts_for_its_own_process_and_time_only() {
        let (seal, other) = (Seal::with(&[1; 32]).unwrap(), Seal::with(&[2; 32]).unwrap());
        let cookie = seal.close("blake3:ab.cd", 1000);
        assert_eq!(seal.open(&cookie, 2000).as_deref(), Some("blake3:ab.cd"));
        assert_eq!(other.open(&cookie, 2000), None);
        assert_eq!(seal.open(&cookie, 1000 + LIFE.as_millis() as u64), None);
        for (at, _) in cookie.char_indices() {
            let mut changed = cookie.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            assert_eq!(seal.open(std::str::from_utf8(&changed).unwrap(), 2000), None, "{at}");
        }
        for wrong in ["", ".", "..", "a.1."] {
            assert_eq!(seal.open(wrong, 0), None, "{wrong}");
        }
    }

    #[test]
    fn a_mark_belongs_to_one_cookie_and_is_no_cookie() {
        let seal = Seal::with(&[1; 32]).unwrap();
        let (one, two) = (seal.close("a", 0), seal.close("b", 0));
        assert!(seal.is_mark(&one, &seal.mark(&one)));
        assert!(!seal.is_mark(&one, &seal.mark(&two)));
        assert!(!seal.is_mark(&one, ""));
        let (said, sign) = one.rsplit_once('.').unwrap();
        assert_ne!(seal.mark(said), sign);
    }

    #[test]
    fn two_cookies_of_the_name_are_none() {
        let request = |text: &str| Request::builder().header("cookie", text).body(()).unwrap();
        assert_eq!(cookie(&request("a=b; hermes_operator=x")).as_deref(), Some("x"));
        assert_eq!(cookie(&request("hermes_operator=x; hermes_operator=y")), None);
        assert_eq!(cookie(&request("xhermes_operator=x")), None);
    }
}

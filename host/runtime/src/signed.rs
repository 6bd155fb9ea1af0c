//! Who vouches that the journal ends where it ends? The last record's number and hash, signed with a key of the state
//! folder. A copy kept elsewhere is a checkpoint. Must not know what the records say.

use crate::call::Digest;
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use serde::{Deserialize, Serialize};

/// The key's name in the state folder.
pub(crate) const KEY: &str = "audit.key";

/// The end of the journal at one time, signed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedHead {
    /// The last record's number; 0 for none.
    pub seq: i64,
    /// Its hash.
    pub hash: Digest,
    /// When it was signed, in milliseconds since 1970-01-01 UTC.
    pub time_ms: u64,
    /// The public key (Ed25519), in hexadecimal digits.
    pub key: String,
    /// The signature, in hexadecimal digits.
    pub signature: String,
}

impl SignedHead {
    pub(crate) fn sign(signing: &SigningKey, seq: i64, hash: Digest, time_ms: u64) -> SignedHead {
        let key = hex(signing.verifying_key().as_bytes());
        let signature = hex(&signing.sign(&message(seq, &hash, time_ms)).to_bytes());
        SignedHead { seq, hash, time_ms, key, signature }
    }

    /// Whether the signature is that of its key over what it says.
    pub fn is_valid(&self) -> bool {
        let signature = bytes::<64>(&self.signature).map(|bytes| Signature::from_bytes(&bytes));
        let key = bytes::<32>(&self.key).and_then(|bytes| VerifyingKey::from_bytes(&bytes).ok());
        match (key, signature) {
            (Some(key), Some(signature)) => {
                key.verify_strict(&message(self.seq, &self.hash, self.time_ms), &signature).is_ok()
            }
            (None, _) | (_, None) => false,
        }
    }
}

/// What is signed. The words in front keep the signature from being taken for one over anything else.
fn message(seq: i64, hash: &Digest, time_ms: u64) -> Vec<u8> {
    let mut message = b"hermes journal head 1\n".to_vec();
    message.extend(seq.to_le_bytes());
    message.extend(time_ms.to_le_bytes());
    message.extend(hash.bytes());
    message
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = |byte: &u8| [byte >> 4, byte & 15].map(|half| char::from(DIGITS[usize::from(half)]));
    bytes.iter().flat_map(digits).collect()
}

fn bytes<const N: usize>(hex: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    if hex.len() != 2 * N || !hex.is_ascii() {
        return None;
    }
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&hex[2 * index..2 * index + 2], 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_that_was_changed_is_not_valid() {
        let head = SignedHead::sign(&SigningKey::from_bytes(&[3; 32]), 7, Digest::of(b"x"), 1000);
        assert!(head.is_valid());
        let others = [
            SignedHead { seq: 6, ..head.clone() },
            SignedHead { hash: Digest::of(b"y"), ..head.clone() },
            SignedHead { time_ms: 1001, ..head.clone() },
            SignedHead { signature: "00".repeat(64), ..head.clone() },
            SignedHead { key: "zz".into(), ..head.clone() },
        ];
        assert!(others.iter().all(|head| !head.is_valid()));
    }
}

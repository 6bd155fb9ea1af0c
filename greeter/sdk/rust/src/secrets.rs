//! Credentials that a component may use and never sees.

use crate::call::{Call, Given};
use crate::failure::{Failure, Kind, Result};

/// The secrets that the operator lets this adapter use. A tool takes it as `&Secrets`; `adapter.toml` asks for `secrets`.
#[derive(Debug)]
pub struct Secrets(());

impl Given for Secrets {
    fn given(_: &Call) -> Secrets {
        Secrets(())
    }
}

impl Secrets {
    /// The secrets of the world, for a native test.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn for_test() -> Secrets {
        Secrets(())
    }

    /// Their names.
    pub fn names(&self) -> Vec<String> {
        #[cfg(target_arch = "wasm32")]
        return crate::bindings::hermes::tool::secrets::names();
        #[cfg(not(target_arch = "wasm32"))]
        crate::native::note(|world| world.secrets.clone())
    }

    /// A text that stands for a secret. In a header of a request the runtime puts the secret in its place.
    pub fn handle(&self, name: &str) -> Result<String> {
        #[cfg(target_arch = "wasm32")]
        let handle = crate::bindings::hermes::tool::secrets::handle(name).ok();
        #[cfg(not(target_arch = "wasm32"))]
        let handle = self.names().iter().any(|known| known == name).then(|| format!("hermes-secret-of-test-{name}"));
        let missing = || {
            Failure::new(Kind::Unavailable, format!("the secret `{name}` is not configured for this plugin"))
                .reason("no_secret")
                .hint("the operator adds it under `[secrets]` of the configuration")
        };
        handle.ok_or_else(missing)
    }
}

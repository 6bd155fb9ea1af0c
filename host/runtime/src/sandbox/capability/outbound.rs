//! How do requests leave, and which credentials do they get? What of it one attempt has.

use super::http::{Http, Network, Reach};
use super::secrets::{self, Secrets, Vault};
use crate::adapter::Adapter;
use crate::config::Config;
use std::sync::Arc;
use std::time::Instant;

/// Reads a secret, by its name, for a URL; or says why it does not go there. Blocks.
pub(crate) type Credentials = Arc<dyn Fn(&str, &str) -> Result<String, String> + Send + Sync>;

/// What an attempt can send.
pub(crate) type Sending = Http;

/// How requests of all calls leave. Lifetime: the runtime.
pub(crate) struct Outbound {
    network: Arc<Network>,
    vault: Arc<Vault>,
}

impl Outbound {
    /// # Errors
    /// What is wrong with the settings of secrets and authorities.
    pub(crate) fn of(config: &Config) -> Result<Outbound, String> {
        let faults = config.secrets.iter().filter_map(|(name, settings)| Some((name, secrets::fault(settings)?)));
        let faults: Vec<String> = faults.map(|(name, why)| format!("secret `{name}`: {why}")).collect();
        match faults.is_empty() {
            true => Ok(Outbound {
                network: Arc::new(Network::of(&config.http)?),
                vault: Arc::new(Vault::of(&config.secrets)),
            }),
            false => Err(faults.join("; ")),
        }
    }

    /// Reads secrets that go to an address of the operator's own configuration.
    pub(crate) fn credentials(&self) -> Credentials {
        let vault = self.vault.clone();
        Arc::new(move |secret, url| vault.for_address(secret, url))
    }

    /// What one attempt of an adapter may send.
    pub(crate) fn reach(&self, adapter: &Adapter, writable: bool, deadline: Instant) -> Sending {
        let asked = |capability: &str| adapter.capabilities.contains(capability);
        let (http, secrets) = (asked("http"), asked("secrets"));
        if !http && !secrets {
            return Http::nothing();
        }
        let (network, name) = (self.network.clone(), adapter.name.clone());
        let reach = http.then(|| Reach { network, adapter: name, writable, deadline });
        Http::new(reach, Secrets::new(self.vault.clone(), &adapter.name, secrets))
    }
}

/// Nothing at all.
pub(crate) fn nothing() -> Sending {
    Http::nothing()
}

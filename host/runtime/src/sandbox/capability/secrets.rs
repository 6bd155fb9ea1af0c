//! Which secrets may a component use without seeing them? Reads them where the configuration says, hands out handles,
//! and puts the secrets in at the edge. Their values leave this folder only into requests.
#![expect(clippy::disallowed_methods, reason = "a secret is read where the operator keeps it")]

pub(crate) mod mask;

use crate::outbound::{Destination, SecretSettings};
use crate::sandbox::State;
use crate::sandbox::bindings::hermes::tool::secrets::{Host, Reason};
use mask::Mask;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Largest secret, in bytes; a file that is larger is not what its path was meant for.
const LARGEST: u64 = 64 << 10;
/// Shortest secret, in bytes. A shorter one would be found by chance, and masking it would make nonsense of answers.
const SHORTEST: usize = 6;
/// How long the program of a credential store may take.
const COMMAND: Duration = Duration::from_secs(20);

/// The secrets of the configuration. Lifetime: the runtime.
#[derive(Default)]
pub(crate) struct Vault {
    settings: BTreeMap<String, SecretSettings>,
    /// What programs printed: asking a store may ask a person.
    printed: Mutex<BTreeMap<String, Secret>>,
}

/// A secret's value. Shown nowhere.
#[derive(Clone)]
pub(crate) struct Secret(Arc<[u8]>);

impl Secret {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[secret]")
    }
}

/// What one attempt may use. Lifetime: the attempt.
pub(crate) struct Secrets {
    vault: Arc<Vault>,
    names: Vec<String>,
    handles: BTreeMap<String, String>,
}

/// What is put into one request.
#[derive(Clone, Debug, Default)]
pub(crate) struct PutIn {
    /// Headers to set.
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    /// Parameters of the query to add, not yet encoded.
    pub(crate) query: Vec<(String, Vec<u8>)>,
    /// Handles and what stands for them.
    pub(crate) handles: Vec<(String, Secret)>,
}

impl Vault {
    pub(crate) fn of(settings: &BTreeMap<String, SecretSettings>) -> Vault {
        Vault { settings: settings.clone(), printed: Mutex::default() }
    }

    /// Reads a secret. Blocks: on a file, or on the program of a store.
    ///
    /// # Errors
    /// Why it cannot be used, without any part of it.
    fn read(&self, name: &str) -> Result<Secret, String> {
        let settings = self.settings.get(name).ok_or("the configuration has none of that name")?;
        let bytes = match source(settings)? {
            Origin::File(path) => read_file(path)?,
            Origin::Credential(credential) => {
                let folder = std::env::var_os("CREDENTIALS_DIRECTORY").ok_or("there is no $CREDENTIALS_DIRECTORY")?;
                read_file(&std::path::Path::new(&folder).join(credential))?
            }
            Origin::Environment(variable) => std::env::var(variable)
                .map(String::into_bytes)
                .map_err(|_| format!("the variable `{variable}` is not set or no text"))?,
            Origin::Command(command) => return self.print(name, command),
        };
        usable(bytes)
    }

    /// A secret as text for an address that the operator's configuration names, which has to be one of the places where
    /// the secret may go. Blocks.
    ///
    /// # Errors
    /// Why it cannot be used there, without any part of it.
    pub(crate) fn for_address(&self, name: &str, url: &str) -> Result<String, String> {
        let why = |why: String| format!("the secret `{}` cannot be used: {why}", crate::document::excerpt(name, 80));
        let read = || {
            let settings = self.settings.get(name).ok_or("the configuration has none of that name")?;
            let url = url::Url::parse(url).map_err(|error| error.to_string())?;
            let destination = Destination::of(url.scheme(), url.authority())?;
            if !settings.origins.iter().any(|origin| origin.covers(&destination)) {
                return Err(format!("its `origins` do not name {destination}"));
            }
            let secret = self.read(name)?;
            String::from_utf8(secret.bytes().to_vec()).map_err(|_| "it is no text".to_owned())
        };
        read().map_err(why)
    }

    fn print(&self, name: &str, command: &[String]) -> Result<Secret, String> {
        // Held while the program runs, so that a person is asked once.
        let mut printed = self.printed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(secret) = printed.get(name) {
            return Ok(secret.clone());
        }
        let secret = usable(run(command)?)?;
        printed.insert(name.to_owned(), secret.clone());
        Ok(secret)
    }
}

enum Origin<'a> {
    File(&'a std::path::Path),
    Environment(&'a str),
    Command(&'a [String]),
    Credential(&'a str),
}

fn source(settings: &SecretSettings) -> Result<Origin<'_>, String> {
    let command = Some(settings.command.as_slice()).filter(|command| !command.is_empty());
    let plain = |name: &&str| !name.is_empty() && !name.contains('/') && *name != ".." && *name != ".";
    match (&settings.file, &settings.environment, command, &settings.credential) {
        (Some(file), None, None, None) => Ok(Origin::File(file)),
        (None, Some(variable), None, None) => Ok(Origin::Environment(variable)),
        (None, None, Some(command), None) => Ok(Origin::Command(command)),
        (None, None, None, Some(name)) => {
            let name = Some(name.as_str()).filter(plain).ok_or("the credential's name is no plain name")?;
            Ok(Origin::Credential(name))
        }
        _ => Err("it needs one of `file`, `environment`, `command` and `credential`".into()),
    }
}

/// What is wrong with a secret's settings, as far as that can be said without reading it.
pub(crate) fn fault(settings: &SecretSettings) -> Option<String> {
    let ways = [settings.header.is_some(), settings.query.is_some(), settings.basic_user.is_some()];
    let header_is_none = settings.header.as_ref().is_some_and(|name| http::HeaderName::try_from(name).is_err());
    match source(settings) {
        Err(why) => Some(why),
        Ok(_) if settings.adapters.is_empty() => Some("`adapters` names nobody who may use it".into()),
        Ok(_) if settings.origins.is_empty() => Some("`origins` names no place where it may go".into()),
        Ok(_) if ways.into_iter().filter(|way| *way).count() > 1 => {
            Some("`header`, `query` and `basic_user` exclude each other".into())
        }
        Ok(_) if settings.value.is_some() && settings.header.is_none() => Some("`value` is for a `header`".into()),
        Ok(_) if header_is_none => Some("`header` is no name of a header".into()),
        Ok(_) if settings.value.as_ref().is_some_and(|value| !value.contains("{secret}")) => {
            Some("`value` lacks `{secret}`".into())
        }
        Ok(_) => None,
    }
}

fn read_file(path: &std::path::Path) -> Result<Vec<u8>, String> {
    let mut bytes =
        crate::document::read_regular(path, LARGEST).map_err(|error| format!("its file cannot be read: {error}"))?;
    while matches!(bytes.last(), Some(b'\n' | b'\r')) {
        bytes.pop();
    }
    Ok(bytes)
}

fn usable(bytes: Vec<u8>) -> Result<Secret, String> {
    match bytes.len() {
        0 => Err("it is empty".into()),
        length if length < SHORTEST => Err(format!("it is shorter than {SHORTEST} bytes, so it could not be masked")),
        _ if bytes.iter().any(|byte| matches!(byte, 0 | b'\n' | b'\r')) => {
            Err("it has line breaks or NULs, which no header holds".into())
        }
        _ => Ok(Secret(bytes.into())),
    }
}

/// Runs the program of a store, with the runtime's own environment: it is the operator's.
fn run(command: &[String]) -> Result<Vec<u8>, String> {
    use std::process::{Command, Stdio};
    let [program, args @ ..] = command else { return Err("its command is empty".into()) };
    let failed = |error: std::io::Error| format!("its program `{program}` cannot be run: {error}");
    let mut child = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(failed)?;
    let out = child.stdout.take();
    let reading = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let mut out = out.map(|out| std::io::Read::take(out, LARGEST));
        out.as_mut().map(|out| std::io::Read::read_to_end(out, &mut bytes)).transpose().map(|_| bytes)
    });
    let until = std::time::Instant::now() + COMMAND;
    let status = loop {
        match child.try_wait().map_err(failed)? {
            Some(status) => break Some(status),
            None if std::time::Instant::now() > until => break None,
            None => std::thread::sleep(Duration::from_millis(10)),
        }
    };
    let Some(status) = status else {
        let _ = child.kill();
        let _ = child.wait();
        return Err(format!("its program `{program}` did not end within {} s", COMMAND.as_secs()));
    };
    let mut bytes = reading.join().map_err(|_| "its program could not be read")?.map_err(failed)?;
    while matches!(bytes.last(), Some(b'\n' | b'\r')) {
        bytes.pop();
    }
    match status.success() {
        true => Ok(bytes),
        false => Err(format!("its program `{program}` failed: {status}")),
    }
}

impl Secrets {
    /// What an adapter may use; nothing, unless it asked for secrets.
    pub(crate) fn new(vault: Arc<Vault>, adapter: &str, asked: bool) -> Secrets {
        let allowed = |settings: &SecretSettings| asked && settings.adapters.iter().any(|name| name == adapter);
        let names = vault.settings.iter().filter(|(_, settings)| allowed(settings)).map(|(name, _)| name.clone());
        Secrets { names: names.collect(), vault, handles: BTreeMap::new() }
    }

    /// Nothing at all.
    pub(crate) fn none() -> Secrets {
        Secrets::new(Arc::default(), "", false)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// All that is needed to use them elsewhere; reading blocks.
    pub(crate) fn reader(&self) -> Reader {
        Reader { vault: self.vault.clone(), names: self.names.clone(), handles: self.handles.clone() }
    }
}

/// Reads what a request needs, away from the store.
pub(crate) struct Reader {
    vault: Arc<Vault>,
    names: Vec<String>,
    handles: BTreeMap<String, String>,
}

impl Reader {
    /// What goes into a request to a destination, and what masks all of this adapter's secrets in the answer. `handles`
    /// are those that the request has. Blocks.
    ///
    /// # Errors
    /// A secret that belongs into this request and cannot be read.
    pub(crate) fn read(&self, destination: &Destination, has: impl Fn(&str) -> bool) -> Result<(PutIn, Mask), String> {
        let mut put_in = PutIn::default();
        let mut known = Vec::new();
        for name in &self.names {
            let settings = &self.vault.settings[name];
            let covers = settings.origins.iter().any(|origin| origin.covers(destination));
            let handles: Vec<&String> = self
                .handles
                .iter()
                .filter(|(handle, of)| *of == name && has(handle))
                .map(|(handle, _)| handle)
                .collect();
            let secret = match self.vault.read(name) {
                Ok(secret) => secret,
                Err(why) if covers || !handles.is_empty() => return Err(format!("secret `{name}`: {why}")),
                // One that cannot be read cannot come back either.
                Err(_) => continue,
            };
            if !covers && !handles.is_empty() {
                return Err(format!("secret `{name}` may not go to {destination}"));
            }
            if covers {
                put(settings, &secret, &mut put_in);
            }
            put_in.handles.extend(handles.into_iter().map(|handle| (handle.clone(), secret.clone())));
            known.push((name.clone(), secret));
        }
        Ok((put_in, Mask::of(&known)))
    }
}

fn put(settings: &SecretSettings, secret: &Secret, put_in: &mut PutIn) {
    if let Some(header) = &settings.header {
        let usual = if header.eq_ignore_ascii_case("authorization") { "Bearer {secret}" } else { "{secret}" };
        let value = settings.value.as_deref().unwrap_or(usual);
        put_in.headers.push((header.to_ascii_lowercase(), replaced(value.as_bytes(), b"{secret}", secret.bytes())));
    }
    if let Some(user) = &settings.basic_user {
        use base64::Engine;
        let pair = [user.as_bytes(), b":", secret.bytes()].concat();
        let value = format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(pair));
        put_in.headers.push(("authorization".into(), value.into_bytes()));
    }
    if let Some(parameter) = &settings.query {
        put_in.query.push((parameter.clone(), secret.bytes().to_vec()));
    }
}

/// A text with every occurrence of a part replaced.
pub(crate) fn replaced(text: &[u8], part: &[u8], by: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.windows(part.len()).position(|window| window == part) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(by);
        rest = &rest[at + part.len()..];
    }
    out.extend_from_slice(rest);
    out
}

impl Host for State {
    fn names(&mut self) -> wasmtime::Result<Vec<String>> {
        Ok(self.http.secrets().names.clone())
    }

    fn handle(&mut self, name: String) -> wasmtime::Result<Result<String, Reason>> {
        if !self.http.secrets().names.contains(&name) {
            return Ok(Err(Reason::NotFound));
        }
        let known = self.http.secrets().handles.iter().find(|(_, of)| **of == name).map(|(handle, _)| handle.clone());
        let handle = known.unwrap_or_else(|| {
            let handle = format!("hermes-secret-{}", ulid::Ulid::generate());
            self.http.secrets().handles.insert(handle.clone(), name);
            handle
        });
        Ok(Ok(handle))
    }
}

//! Which process sends questions to the webhook of the configuration? One of this user's, whichever serves agents first; when
//! it ends, the next one does. Must not know what is asked.

use crate::failure::Failure;
use hermes_gateway::{CancellationToken, Webhook};
use hermes_runtime::config::Config;
use hermes_runtime::open_journal;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Largest file with a key, in bytes.
const LARGEST: u64 = 4096;
/// How often it is looked whether nobody else sends questions any more.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// A webhook that is ready, if the configuration has one.
///
/// # Errors
/// If its key cannot be used: where somebody set a channel, its silence must not be taken for no question.
pub(crate) fn of(config: &Config) -> Result<Option<Webhook>, Failure> {
    let Some(settings) = &config.approval.webhook else { return Ok(None) };
    let file = &settings.key_file;
    let unusable =
        |why: String| Failure::usage(format!("the webhook's key `{}` cannot be used: {why}", file.display()));
    let about = std::fs::metadata(file).map_err(|error| unusable(error.to_string()))?;
    if about.mode() & 0o077 != 0 {
        return Err(unusable("it is not its owner's alone; use chmod 600".into()));
    }
    let key = hermes_runtime::document::read_regular(file, LARGEST).map_err(|error| unusable(error.to_string()))?;
    Webhook::new(settings, &key).map(Some).map_err(|error| unusable(error.to_string()))
}

/// Sends questions until `stop` is cancelled, while no other process of this user does. Dropping the future ends it.
pub(crate) async fn serve(webhook: Option<Webhook>, config: Config, stop: CancellationToken) {
    let Some(webhook) = webhook else { return };
    let lock = loop {
        match alone(&config.state_dir) {
            Some(lock) => break lock,
            None => tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(LOOK_EVERY) => {}
            },
        }
    };
    match open_journal(&config.state_dir) {
        Ok(journal) => webhook.serve(&Arc::new(journal), config.approval.expires_seconds, stop).await,
        Err(error) => tracing::error!(%error, "questions cannot be sent to the webhook"),
    }
    drop(lock);
}

/// A lock that only one process has at a time; it goes with the process.
fn alone(state: &Path) -> Option<std::fs::File> {
    let file =
        std::fs::OpenOptions::new().write(true).create(true).truncate(false).open(state.join("webhook.lock")).ok()?;
    rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive).ok()?;
    Some(file)
}

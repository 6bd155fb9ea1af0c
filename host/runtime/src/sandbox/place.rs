//! Where does a component run that asks for a profile by its name? In this process, in one of its own in the sandbox of the
//! operating system, or where the embedding program has it. Must not run any.

use super::install::InstallError;
use super::worker::{ACROSS, Place};
use super::{Sandbox, capability};
use crate::profile::{Named, Profile};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The runtime's own profiles.
const IN_PROCESS: &str = "in-process";
const PROCESS: &str = "process";

/// Those that the embedding program adds, by name.
///
/// # Errors
/// A name that is taken or no word.
pub(super) fn profiles(added: &[Named]) -> Result<BTreeMap<String, Arc<dyn Profile>>, String> {
    let mut profiles = BTreeMap::new();
    for Named { name, profile } in added {
        let is_word =
            !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
        if !is_word {
            return Err(format!("the profile `{name}`: a name has small letters, digits and `-`"));
        }
        let taken = [IN_PROCESS, PROCESS].contains(&&**name);
        if taken || profiles.insert(name.to_string(), profile.clone()).is_some() {
            return Err(format!("the profile `{name}`: there is one of this name already"));
        }
    }
    Ok(profiles)
}

/// Whether capabilities reach a component in another process.
///
/// # Errors
/// The first one that does not, as the rest of a sentence.
pub(crate) fn reaches_across(capabilities: &BTreeSet<String>) -> Result<(), String> {
    // The embedding program's own do: they are one question and one answer each.
    let stays = |name: &&String| capability::ALL.contains(&name.as_str()) && !ACROSS.contains(&name.as_str());
    capabilities.iter().find(stays).map_or(Ok(()), |asked| {
        Err(format!(
            "asks for the capability `{asked}`, which reaches no component in another process (of the runtime's, {} do): \
             ask for the profile `{IN_PROCESS}`",
            ACROSS.join(", ")
        ))
    })
}

impl Sandbox {
    /// Where a component of a profile runs; nothing for this process.
    ///
    /// # Errors
    /// There is no such profile, or the component cannot run there.
    pub(super) fn place(
        &self,
        profile: &str,
        component: &[u8],
        granted: &BTreeSet<String>,
    ) -> Result<Option<Place>, InstallError> {
        if profile == IN_PROCESS {
            return Ok(None);
        }
        if let Some(own) = self.profiles.get(profile) {
            own.accept(component, granted).map_err(InstallError::Apart)?;
            return Ok(Some(Place::Elsewhere(own.clone())));
        }
        if profile != PROCESS {
            let known = [IN_PROCESS, PROCESS].into_iter().chain(self.profiles.keys().map(String::as_str));
            let known: Vec<String> = known.map(|name| format!("`{name}`")).collect();
            return Err(InstallError::Apart(format!(
                "asks for the profile `{}`, which there is not: the profiles of this runtime are {}",
                crate::document::excerpt(profile, 80),
                known.join(", ")
            )));
        }
        reaches_across(granted).map_err(InstallError::Apart)?;
        match self.machine.can_work() {
            true => Ok(Some(Place::Sandboxed)),
            false => Err(InstallError::Apart(
                "asks for the profile `process`, for which this program has to be able to run programs: the feature `process`, Linux, and a helper".into(),
            )),
        }
    }
}

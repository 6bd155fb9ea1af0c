//! Which files of git does a program find and cannot change? Those that say which programs git runs: whoever uses git
//! in a folder after a program has been at work there would run what it has written down. Repositories are looked for
//! in each grant that may be written, near the top first, and their `config` is put over itself read-only; `hooks` is
//! covered. What was not there at the start cannot be covered, so it is put aside when the program has ended.

use super::super::plan::{Failed, Layer, Plan};
use super::{root, system};
use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, RenameFlags, ResolveFlags, StatxAttributes, StatxFlags, lstat, open,
    openat2, renameat_with, statx,
};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::ffi::OsStr;
use std::io::Result;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Names that are looked at for one program, in all grants together: a tenth of a second on a disk that is warm.
const NAMES: usize = 50_000;
/// Repositories that are guarded; each takes a few mounts.
const REPOSITORIES: usize = 200;
/// Files that say, directly or by naming another one, which programs git runs.
const FIXED: [&str; 3] = ["config", "config.worktree", "commondir"];
/// What git runs by itself.
const HOOKS: &str = "hooks";
/// What makes git read settings or run something as soon as it is there.
const LATER: [&str; 3] = ["config", "commondir", HOOKS];
/// Folders of a repository without another one in them.
const STORES: [&str; 4] = ["objects", "refs", "logs", "lfs"];
/// What a file is called that was put aside.
const ASIDE: &str = "kept-from-git";

/// A repository, and what it lacked when the program started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Watched {
    folder: PathBuf,
    absent: Vec<String>,
}

/// What was found in the grants.
#[derive(Debug, Default)]
struct Found {
    /// Folders in which git keeps a repository.
    repositories: Vec<PathBuf>,
    /// Files in place of such a folder, which name it.
    links: Vec<PathBuf>,
    /// Whether there was more than is looked at.
    stopped: bool,
}

/// Guards all repositories in the grants that may be written.
pub(super) fn guard(plan: &Plan, layers: &mut Vec<Layer>) -> std::result::Result<Vec<Watched>, Failed> {
    let wrong = |error: std::io::Error| Failed::layer("guard over what git would run", error);
    let writable: Vec<&str> =
        plan.grants.iter().filter(|grant| grant.writable).map(|grant| grant.name.as_str()).collect();
    if writable.is_empty() {
        return Ok(Vec::new());
    }
    let hidden: Vec<&Path> = plan.hidden.iter().map(Path::new).collect();
    let found = find(&writable, &hidden);
    let mut watched = Vec::new();
    for folder in &found.repositories {
        watched.push(guard_repository(folder, &hidden).map_err(wrong)?);
    }
    for link in &found.links {
        fix(link).map_err(wrong)?;
    }
    let count = found.repositories.len() + found.links.len();
    let more = if found.stopped { format!("; it was not looked beyond {NAMES} names") } else { String::new() };
    layers.push(Layer { name: "repositories".into(), state: format!("what {count} say of programs is fixed{more}") });
    Ok(watched)
}

/// Looks through the grants, breadth first. What cannot be read is left out: the program cannot read it either.
fn find(grants: &[&str], hidden: &[&Path]) -> Found {
    let mut found = Found::default();
    let mut queue: VecDeque<PathBuf> = grants.iter().map(PathBuf::from).collect();
    let mut left = NAMES;
    while let Some(folder) = queue.pop_front() {
        let Ok(names) = names(&folder, &mut left) else { continue };
        let has = |wanted: &str| names.iter().any(|(name, _)| name.as_bytes() == wanted.as_bytes());
        let is_repository = has("HEAD") && (has("config") || has("objects") || has("commondir"));
        if is_repository {
            found.repositories.push(folder.clone());
        }
        for (name, kind) in &names {
            let path = folder.join(name);
            let is_git = name.as_bytes().eq_ignore_ascii_case(b".git");
            let is_store = is_repository && STORES.iter().any(|store| name.as_bytes() == store.as_bytes());
            match kind {
                FileType::Directory if is_store || hidden.contains(&path.as_path()) => {}
                FileType::Directory if is_git => queue.push_front(path),
                FileType::Directory => queue.push_back(path),
                FileType::RegularFile if is_git => found.links.push(path),
                _ => {}
            }
        }
        found.stopped = left == 0 || found.repositories.len() + found.links.len() >= REPOSITORIES;
        if found.stopped {
            break;
        }
    }
    found.repositories.truncate(REPOSITORIES);
    found.links.truncate(REPOSITORIES);
    found
}

/// The names in a folder with what they are, as many as are left to look at.
fn names(folder: &Path, left: &mut usize) -> Result<Vec<(std::ffi::OsString, FileType)>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let open = open(folder, flags, Mode::empty())?;
    let mut names = Vec::new();
    for entry in Dir::read_from(&open)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        if *left == 0 {
            break;
        }
        *left -= 1;
        let kind = match entry.file_type() {
            FileType::Unknown => {
                lstat(folder.join(name)).map_or(FileType::Unknown, |status| FileType::from_raw_mode(status.st_mode))
            }
            known => known,
        };
        names.push((name.to_owned(), kind));
    }
    Ok(names)
}

fn guard_repository(folder: &Path, hidden: &[&Path]) -> Result<Watched> {
    let is_there = |name: &str| lstat(folder.join(name)).is_ok();
    let absent = LATER.into_iter().filter(|name| !is_there(name)).map(str::to_owned).collect();
    // Over itself, so that it cannot be moved away and another one put in its place.
    system::attach_mount(&system::clone_mount(folder)?, folder)?;
    for name in FIXED.into_iter().filter(|name| is_there(name)) {
        fix(&folder.join(name))?;
    }
    let hooks = folder.join(HOOKS);
    if is_there(HOOKS) && !hidden.contains(&hooks.as_path()) {
        root::hide(&hooks)?;
    }
    Ok(Watched { folder: folder.to_owned(), absent })
}

/// Puts a place over itself, read-only.
pub(super) fn fix(place: &Path) -> Result<()> {
    if lstat(place).is_err() {
        return Ok(());
    }
    let mount = system::clone_mount(place)?;
    system::set_mount(&mount, root::READ_ONLY, None)?;
    system::attach_mount(&mount, place)
}

/// Puts aside what is there now and was not at the start, as the program's own user, whose files these are. Nothing runs
/// any more that could change a path meanwhile; links that were left behind are not followed. Returns what was put aside.
pub(super) fn put_aside(watched: &[Watched]) -> Vec<String> {
    let mut moved = Vec::new();
    for Watched { folder, absent } in watched {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let Ok(open) = openat2(CWD, folder, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) else { continue };
        let is_ours = statx(&open, "", AtFlags::EMPTY_PATH, StatxFlags::TYPE)
            .is_ok_and(|status| status.stx_attributes.contains(StatxAttributes::MOUNT_ROOT));
        if !is_ours {
            continue;
        }
        for name in absent {
            let aside = |number: u32| format!("{name}.{ASIDE}-{number}");
            let done = (1..100).map(aside).find(|aside| {
                renameat_with(&open, name.as_str(), &open, aside.as_str(), RenameFlags::NOREPLACE).is_ok()
            });
            if done.is_some() {
                moved.push(folder.join(name).to_string_lossy().into_owned());
            }
        }
    }
    moved
}

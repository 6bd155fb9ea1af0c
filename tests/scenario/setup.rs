//! What is there before the first call, and what is different after the last one? Makes files, links, pipes and
//! sockets, and compares two looks at a folder. Must not know what the calls do.

use super::format::{After, Thing};
use crate::support::house::House;
use hermes_runtime::call::Digest;
use rustix::fs::Mode;
use std::collections::BTreeMap;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Of a file larger than this, only head and tail are compared.
const WHOLE: u64 = 16 << 20;

/// A path of a scenario in the house. `\xff` in it stands for a byte.
fn place(house: &House, path: &str) -> PathBuf {
    assert!(path.starts_with("workspace") || path.starts_with("outside"), "`{path}` is neither inside nor outside");
    let mut bytes = Vec::new();
    let mut rest = path.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        match rest.strip_prefix(b"\\x").and_then(|after| after.split_at_checked(2)) {
            Some((digits, after)) => {
                bytes.push(u8::from_str_radix(std::str::from_utf8(digits).unwrap(), 16).unwrap());
                rest = after;
            }
            None => {
                bytes.push(*byte);
                rest = after;
            }
        }
    }
    house.root().join(std::ffi::OsStr::from_bytes(&bytes))
}

/// Makes all things, then sets the modes, so that nothing is made in a folder without rights.
pub(super) fn make(house: &House, things: &[Thing]) {
    let made: Vec<PathBuf> = things.iter().map(|thing| make_one(house, thing)).collect();
    for (thing, path) in things.iter().zip(made).rev() {
        if let Some(mode) = thing.mode {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        }
    }
}

fn make_one(house: &House, thing: &Thing) -> PathBuf {
    let names = [&thing.file, &thing.directory, &thing.link, &thing.hard_link, &thing.fifo, &thing.socket];
    let given: Vec<&String> = names.into_iter().flatten().collect();
    let [name] = given.as_slice() else { panic!("one name is wanted: {thing:?}") };
    let path = place(house, name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let to = thing.to.as_deref().unwrap_or_default();
    if thing.file.is_some() {
        make_file(&path, thing);
    } else if thing.directory.is_some() {
        std::fs::create_dir_all(&path).unwrap();
    } else if thing.link.is_some() {
        std::os::unix::fs::symlink(to.replace("$house", &house.root().to_string_lossy()), &path).unwrap();
    } else if thing.hard_link.is_some() {
        std::fs::hard_link(place(house, to), &path).unwrap();
    } else if thing.fifo.is_some() {
        let fifo = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, &path, fifo, Mode::from_raw_mode(0o644), 0).unwrap();
    } else {
        // The name stays when the listener is gone.
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    }
    path
}

fn make_file(path: &Path, thing: &Thing) {
    let text = thing.content.as_deref().unwrap_or_default().as_bytes();
    let content = thing.bytes.as_deref().unwrap_or(text).repeat(thing.times.unwrap_or(1));
    let mut file = std::fs::File::create(path).unwrap();
    if let Some(size) = thing.size {
        file.seek(SeekFrom::Start(size - content.len() as u64)).unwrap();
    }
    file.write_all(&content).unwrap();
}

/// What a look at a folder shows of each place in it: its kind, mode, and content or where it leads.
pub(super) type Look = BTreeMap<String, (u32, Vec<u8>)>;

/// Looks at workspace and outside.
pub(super) fn look(house: &House) -> Look {
    let mut look = Look::new();
    for folder in ["workspace", "outside"] {
        look_into(house.root(), &house.path(folder), &mut look);
    }
    look
}

fn look_into(root: &Path, folder: &Path, look: &mut Look) {
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        let metadata = std::fs::symlink_metadata(&path).unwrap();
        let name = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
        let seen = match (metadata.is_file(), metadata.is_symlink()) {
            (true, _) => content_of(&path, metadata.len()),
            (_, true) => std::fs::read_link(&path).unwrap().as_os_str().as_bytes().to_vec(),
            _ => Vec::new(),
        };
        look.insert(name, (metadata.mode(), seen));
        if metadata.is_dir() {
            look_into(root, &path, look);
        }
    }
}

fn content_of(path: &Path, size: u64) -> Vec<u8> {
    let Ok(mut file) = std::fs::File::open(path) else { return b"unreadable".to_vec() };
    let mut bytes = size.to_le_bytes().to_vec();
    if size <= WHOLE {
        file.read_to_end(&mut bytes).unwrap();
    } else {
        (&file).take(WHOLE / 2).read_to_end(&mut bytes).unwrap();
        file.seek(SeekFrom::End(-(WHOLE as i64 / 2))).unwrap();
        file.read_to_end(&mut bytes).unwrap();
    }
    Digest::of(&bytes).bytes().to_vec()
}

/// The places that are not what they were.
pub(super) fn changed(before: &Look, after: &Look) -> Vec<String> {
    let all = before.keys().chain(after.keys()).collect::<std::collections::BTreeSet<_>>();
    all.into_iter().filter(|name| before.get(*name) != after.get(*name)).cloned().collect()
}

/// Checks what a scenario says is there in the end.
pub(super) fn check(house: &House, after: &After) {
    match (&after.file, &after.absent) {
        (Some(file), None) => {
            let path = place(house, file);
            let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{file}: {error}"));
            if let Some(content) = &after.content {
                assert_eq!(String::from_utf8_lossy(&bytes), *content, "{file}");
            }
            if let Some(expected) = &after.bytes {
                assert_eq!(bytes, *expected, "{file}");
            }
            if let Some(mode) = after.mode {
                let there = std::fs::metadata(&path).unwrap().mode() & 0o7777;
                assert_eq!(format!("{there:o}"), format!("{mode:o}"), "the mode of {file}");
            }
        }
        (None, Some(absent)) => assert!(place(house, absent).symlink_metadata().is_err(), "{absent} is there"),
        _ => panic!("one of `file` and `absent` is wanted: {after:?}"),
    }
}

//! A tree of files in memory that stands for the host in the tests, with the host's rules as far as tools meet them.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use crate::files::{Entry, EntryKind, Expectation, Failure, Files, Grant, Reason, Source, Status, Written};
use crate::path;

/// What a path holds.
#[derive(Clone)]
pub(crate) enum Node {
    File(Vec<u8>),
    /// A hole of that size, and what follows it.
    Sparse(u64, Vec<u8>),
    /// One byte, so many times.
    Same(u8, u64),
    Directory,
    Unreadable,
    Pipe,
    Link,
    /// A name that is not UTF-8 on disk.
    Unnameable,
}

/// The tree. Directories above a file need not be named.
pub(crate) struct Tree {
    nodes: RefCell<BTreeMap<String, Node>>,
    /// So many writes with an expectation are refused as if somebody else had been quicker.
    pub(crate) intruders: Cell<u32>,
    /// How many bytes were read in all.
    pub(crate) bytes_read: std::rc::Rc<Cell<u64>>,
}

pub(crate) struct Open {
    node: Node,
    bytes_read: std::rc::Rc<Cell<u64>>,
}

fn fail<T>(reason: Reason, path: &str) -> Result<T, Failure> {
    Err(Failure { reason, message: format!("{reason:?}: {path}") })
}

fn digest(content: &[u8]) -> String {
    let sum = content.iter().fold(7_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)));
    format!("blake3:{sum:064x}")
}

impl Tree {
    pub(crate) fn new(files: &[(&str, &[u8])]) -> Tree {
        let tree = Tree { nodes: RefCell::default(), intruders: Cell::new(0), bytes_read: Default::default() };
        tree.put("/workspace", Node::Directory);
        for (path, content) in files {
            tree.put(path, Node::File(content.to_vec()));
        }
        tree
    }

    pub(crate) fn put(&self, path: &str, node: Node) {
        let mut nodes = self.nodes.borrow_mut();
        let mut above = path::split(path).0;
        while above != "/" {
            nodes.entry(above.to_owned()).or_insert(Node::Directory);
            above = path::split(above).0;
        }
        nodes.insert(path.to_owned(), node);
    }

    pub(crate) fn content(&self, path: &str) -> Option<Vec<u8>> {
        match self.nodes.borrow().get(path) {
            Some(Node::File(content)) => Some(content.clone()),
            _ => None,
        }
    }

    fn node(&self, path: &str) -> Result<Node, Failure> {
        match self.nodes.borrow().get(path) {
            Some(node) => Ok(node.clone()),
            None => fail(Reason::NotFound, path),
        }
    }

    fn check(&self, path: &str, expect: &Expectation) -> Result<Option<Vec<u8>>, Failure> {
        self.node(path::split(path).0)?;
        let old = match self.node(path) {
            Ok(Node::File(content)) => Some(content),
            Ok(Node::Directory) => return fail(Reason::IsADirectory, path),
            Ok(_) => return fail(Reason::NotARegularFile, path),
            Err(_) => None,
        };
        match expect {
            Expectation::Any => Ok(old),
            Expectation::Absent if old.is_none() => Ok(old),
            Expectation::Absent => fail(Reason::AlreadyExists, path),
            Expectation::Digest(_) if self.intruders.get() > 0 => {
                self.intruders.set(self.intruders.get() - 1);
                fail(Reason::Changed, path)
            }
            Expectation::Digest(expect) if old.as_deref().map(digest).as_ref() == Some(expect) => Ok(old),
            Expectation::Digest(_) => fail(Reason::Changed, path),
        }
    }

    fn store(&self, path: &str, content: Vec<u8>, created: bool) -> Written {
        let written = Written { size: content.len() as u64, digest: digest(&content), created };
        self.nodes.borrow_mut().insert(path.to_owned(), Node::File(content));
        written
    }
}

fn status(node: &Node) -> (EntryKind, u64) {
    match node {
        Node::File(content) => (EntryKind::File, content.len() as u64),
        Node::Sparse(hole, rest) => (EntryKind::File, hole + rest.len() as u64),
        Node::Same(_, size) => (EntryKind::File, *size),
        Node::Directory | Node::Unreadable => (EntryKind::Directory, 0),
        Node::Pipe => (EntryKind::Other, 0),
        Node::Link => (EntryKind::Link, 0),
        Node::Unnameable => (EntryKind::File, 1),
    }
}

impl Files for Tree {
    type Reader = Open;

    fn grants(&self) -> Vec<Grant> {
        vec![Grant { name: "/workspace".to_owned(), writable: true }]
    }

    fn stat(&self, path: &str) -> Result<Status, Failure> {
        let (kind, size) = status(&self.node(path)?);
        Ok(Status { kind, size, modified_ms: 1_790_000_000_123 })
    }

    fn open(&self, path: &str) -> Result<Open, Failure> {
        match self.node(path)? {
            Node::Directory | Node::Unreadable => fail(Reason::IsADirectory, path),
            Node::Pipe => fail(Reason::NotARegularFile, path),
            node => Ok(Open { node, bytes_read: self.bytes_read.clone() }),
        }
    }

    fn list(&self, path: &str, after: Option<&str>, limit: u32) -> Result<Vec<Entry>, Failure> {
        match self.node(path)? {
            Node::Directory => {}
            Node::Unreadable => return fail(Reason::PermissionDenied, path),
            _ => return fail(Reason::NotADirectory, path),
        }
        let nodes = self.nodes.borrow();
        let inside = nodes.iter().filter(|(name, _)| path::split(name).0 == path && name.as_str() != path);
        let entries = inside.map(|(name, node)| {
            let (kind, size) = status(node);
            let accessible = !matches!(node, Node::Unnameable);
            Entry { name: path::split(name).1.to_owned(), kind, size, modified_ms: 1_790_000_000_123, accessible }
        });
        let mut entries: Vec<Entry> = entries.filter(|entry| after.is_none_or(|after| *entry.name > *after)).collect();
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        entries.truncate(limit as usize);
        Ok(entries)
    }

    fn make_directory(&self, path: &str) -> Result<(), Failure> {
        self.put(path, Node::Directory);
        Ok(())
    }

    fn write(&self, path: &str, content: &[u8], expect: &Expectation) -> Result<Written, Failure> {
        let old = self.check(path, expect)?;
        Ok(self.store(path, content.to_vec(), old.is_none()))
    }

    fn append(&self, path: &str, content: &[u8], expect: &Expectation) -> Result<Written, Failure> {
        match self.check(path, expect)? {
            Some(old) => Ok(self.store(path, [&old, content].concat(), false)),
            None => fail(Reason::NotFound, path),
        }
    }
}

impl Source for Open {
    fn size(&self) -> u64 {
        status(&self.node).1
    }

    fn read(&self, offset: u64, length: u32) -> Result<Vec<u8>, Failure> {
        assert!(length <= 4 * 1024 * 1024, "the interface allows no longer read");
        let end = self.size().min(offset + u64::from(length));
        let length = usize::try_from(end.saturating_sub(offset)).unwrap();
        self.bytes_read.set(self.bytes_read.get() + length as u64);
        Ok(match &self.node {
            Node::File(content) => content.iter().skip(offset as usize).take(length).copied().collect(),
            Node::Same(byte, _) => vec![*byte; length],
            Node::Sparse(hole, rest) => {
                (offset..end).map(|at| if at < *hole { 0 } else { rest[(at - hole) as usize] }).collect()
            }
            _ => Vec::new(),
        })
    }

    fn digest(&self) -> Result<String, Failure> {
        match &self.node {
            Node::File(content) => Ok(digest(content)),
            _ => Ok(digest(b"")),
        }
    }
}

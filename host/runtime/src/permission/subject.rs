//! What does a call act on, all told? The targets of its arguments with what is known about them, as policies and
//! records see them. Pure.

use super::labels::Labels;
use super::target::{self, Named, Target};
use crate::registry::Tool;
use std::collections::BTreeSet;

/// The targets of one call and what is known about them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// As records name them.
    pub targets: BTreeSet<String>,
    /// Words for them.
    pub labels: BTreeSet<String>,
    /// Hosts of URLs.
    pub hosts: BTreeSet<String>,
    /// Names in SQL.
    pub tables: BTreeSet<String>,
    /// First words of SQL statements.
    pub statements: BTreeSet<String>,
    /// Programs, alone and with their first argument.
    pub programs: BTreeSet<String>,
    /// Whether there are targets and all lie beneath grants.
    pub beneath_grants: bool,
}

impl Subject {
    /// Puts together what the targets of a call come to.
    pub fn new(tool: &Tool, targets: &[Target], labels: &Labels) -> Subject {
        let mut subject = Subject {
            beneath_grants: !targets.is_empty() && targets.iter().all(target::is_beneath_grants),
            ..Subject::default()
        };
        for target in targets {
            let named = target.named();
            labels.of(tool, target, &named, &mut subject.labels);
            subject.targets.insert(target.text().to_owned());
            let Named { hosts, tables, statements, programs, .. } = named;
            subject.hosts.extend(hosts);
            subject.tables.extend(tables);
            subject.statements.extend(statements);
            subject.programs.extend(programs);
            if matches!(target, Target::Unreadable(_)) {
                subject.labels.insert("unreadable".into());
            }
        }
        if subject.beneath_grants && subject.labels.is_empty() {
            subject.labels.insert("workspace".into());
        }
        subject
    }
}

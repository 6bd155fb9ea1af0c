//! Who is asked when a person has to decide, and what do they say? Must not know why they are asked.

use hermes_runtime::permission::approval::{Answer, Approver, Asking, Request};
use serde::Deserialize;
use std::sync::Mutex;

/// A person as a scenario wants one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Person {
    /// There is no channel at all.
    #[default]
    Missing,
    /// Says yes.
    Yes,
    /// Says no, with a reason.
    No,
    /// Never answers.
    Silent,
    /// There is a channel with nobody behind it.
    Nobody,
}

/// A channel that answers as its person does and keeps what it was asked.
#[derive(Debug)]
pub(crate) struct Channel {
    person: Person,
    pub(crate) asked: Mutex<Vec<Request>>,
}

impl Channel {
    pub(crate) fn new(person: Person) -> Channel {
        Channel { person, asked: Mutex::default() }
    }
}

impl Approver for Channel {
    fn ask<'a>(&'a self, request: &'a Request) -> Asking<'a> {
        self.asked.lock().unwrap().push(request.clone());
        let by = "tester".to_owned();
        let answer = match self.person {
            Person::Yes => Some(Answer::Approved { by }),
            Person::No => Some(Answer::Denied { by, reason: Some("not today".into()) }),
            Person::Nobody | Person::Missing => Some(Answer::Nobody),
            Person::Silent => None,
        };
        Box::pin(async move {
            match answer {
                Some(answer) => answer,
                None => std::future::pending().await,
            }
        })
    }
}

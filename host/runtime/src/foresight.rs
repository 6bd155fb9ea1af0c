//! What would become of a call? Steps 1, 3 and 4 as they would judge it now, without asking, running or writing
//! anything. Part of the spine; it decides nothing itself.

use crate::call::{Call, Caller, Digest, Judged, Situation};
use crate::dispatch::Runtime;
use crate::error::Error;
use crate::permission::explain::{Explanation, explain};
use crate::permission::policy::{Policies, known_roles, schema};
use crate::record::History;
use crate::registry::{self, Tool};
use crate::validation;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

impl Runtime {
    /// What would become of a call, with every number and where it comes from. `history` stands for the caller's own.
    ///
    /// # Errors
    /// `unknown_tool`, or `invalid_input` with all problems of the arguments.
    pub async fn explain(&self, call: &Call, history: Option<History>) -> Result<Explanation, Error> {
        let longest = Duration::from_millis(self.config().ceiling.timeout_ms);
        let history = match history {
            Some(history) => history,
            None => self.history(&call.caller.id).await?,
        };
        self.with_tool(&call.tool, &call.caller.role, |tool, policies| {
            let judged = validation::judge(tool, &call.args, longest)?;
            Ok(explain(call, tool, &judged, self.places(), policies, history, |url| self.grants_private(tool, url)))
        })
    }

    /// What a role gets of a tool whatever the arguments are.
    pub fn explain_role(&self, role: &str, tool: &str, situation: &Arc<Situation>) -> Result<Explanation, Error> {
        let call = Call::new(tool, json!({}))
            .caller(Arc::new(Caller { id: "nobody".into(), role: role.to_owned() }))
            .situation(situation.clone());
        let judged = Judged {
            value: Arc::new(json!({})),
            canonical: "{}".into(),
            digest: Digest::of(b"{}"),
            repairs: Vec::new().into(),
            timeout: None,
        };
        self.with_tool(tool, role, |tool, policies| {
            Ok(explain(&call, tool, &judged, self.places(), policies, History::default(), |url| {
                self.grants_private(tool, url)
            }))
        })
    }

    /// The Cedar schema of a tool, with a remark for each argument that no policy can see.
    ///
    /// # Errors
    /// `unknown_tool`.
    pub fn cedar_schema(&self, tool: &str) -> Result<String, Error> {
        self.with_tool(tool, "", |tool, _| Ok(schema_of(tool)))
    }

    /// Every role that configuration or a manifest names.
    pub fn roles(&self) -> Vec<String> {
        known_roles(&self.toolbox().registry, self.config()).into_iter().collect()
    }

    /// The names of all tools, sorted.
    pub fn tool_names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.toolbox().registry.tools().map(|tool| tool.name.to_string()).collect();
        names.sort();
        names
    }

    fn grants_private(&self, tool: &Tool, url: &str) -> bool {
        tool.backends.first().is_some_and(|backend| self.config().http.grants_private(&backend.adapter, url))
    }

    fn with_tool<T>(
        &self,
        name: &str,
        role: &str,
        look: impl FnOnce(&Tool, &Policies) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let toolbox = self.toolbox();
        look(registry::lookup(&toolbox.registry, name, role)?, &toolbox.policies)
    }
}

fn schema_of(tool: &Tool) -> String {
    let schema: Value = schema::of_tools([tool]);
    let absent = schema::arguments(tool).into_iter().filter_map(|(name, argument)| match argument.shown {
        schema::Shown::Absent(why) => Some(format!("// no policy can see `{name}`: {why}\n")),
        schema::Shown::One(_) | schema::Shown::Many(_) => None,
    });
    let remarks: String = absent.collect();
    format!("{remarks}{}", Policies::cedar_text(schema))
}

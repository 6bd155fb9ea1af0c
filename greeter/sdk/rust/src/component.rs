//! How does a list of tools become a component? By [`plugin!`](crate::plugin).

use crate::bindings::exports::hermes::tool::tool_execution::{self as contract, Description, Error, Output};
use crate::bindings::hermes::tool::types::ToolDescription;
use crate::call::Call;
use crate::failure::{Failure, Result};
use crate::tool::Tool;

/// What a plugin is made of.
#[derive(Clone, Debug)]
pub struct Plugin {
    /// The adapter's name.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
    /// Its tools.
    pub tools: Vec<Tool>,
    /// Says whether calls can succeed now.
    pub health: fn() -> Result<()>,
}

impl Plugin {
    /// What the component says of itself.
    pub fn describe(&self) -> Description {
        let describe = |tool: &Tool| ToolDescription {
            name: tool.name.to_owned(),
            description: tool.description.to_owned(),
            input_schema: tool.schema().to_string(),
        };
        Description {
            name: self.name.to_owned(),
            version: self.version.to_owned(),
            tools: self.tools.iter().map(describe).collect(),
        }
    }

    /// Runs one call.
    pub fn execute(&self, call: contract::Call) -> Result<Output, Error> {
        let (name, arguments, call) = Call::of(call);
        let unknown = || Failure::invalid(format!("the component `{}` has no tool `{name}`", self.name));
        let tool = self.tools.iter().find(|tool| tool.name == name).ok_or_else(unknown)?;
        Ok(tool.run(&arguments, &call)?.into())
    }

    /// Says whether calls can succeed now.
    pub fn check_health(&self) -> Result<(), Error> {
        Ok((self.health)()?)
    }
}

/// Makes a component of tools.
///
/// ```
/// # use hermes_sdk::{Result, plugin, tool};
/// /// Add two numbers.
/// #[tool]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// fn ready() -> Result<()> {
///     Ok(())
/// }
///
/// plugin! { name: "adder", tools: [add], health: ready }
///
/// # fn main() {
/// assert_eq!(plugin().tools[0].schema()["required"], serde_json::json!(["a", "b"]));
/// # }
/// ```
///
/// `health` may be left out. A tool in another module is named by its path, one put together by hand as `= expression`.
/// The version is that of the crate.
#[macro_export]
macro_rules! plugin {
    (name: $name:expr, tools: [$($tools:tt)*] $(, health: $health:path)? $(,)?) => {
        /// What this plugin is made of.
        #[allow(dead_code, reason = "natively only tests use it")]
        pub(crate) fn plugin() -> $crate::Plugin {
            #[allow(unused_mut, unused_assignments, reason = "without `health`, every call can succeed")]
            let mut health: fn() -> $crate::Result<()> = || Ok(());
            $(health = $health;)?
            $crate::Plugin {
                name: $name,
                version: env!("CARGO_PKG_VERSION"),
                tools: $crate::__tools!([] $($tools)*),
                health,
            }
        }

        #[cfg(target_arch = "wasm32")]
        mod __component {
            use $crate::bindings::exports::hermes::tool::tool_execution::{Call, Description, Error, Guest, Output};

            struct Component;

            impl Guest for Component {
                fn describe() -> Description {
                    super::plugin().describe()
                }

                fn execute(call: Call) -> Result<Output, Error> {
                    super::plugin().execute(call)
                }

                fn check_health() -> Result<(), Error> {
                    super::plugin().check_health()
                }
            }

            $crate::bindings::export!(Component with_types_in $crate::bindings);
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __tools {
    ([$($done:expr,)*]) => { vec![$($done),*] };
    ([$($done:expr,)*] = $tool:expr $(, $($rest:tt)*)?) => { $crate::__tools!([$($done,)* $tool,] $($($rest)*)?) };
    ([$($done:expr,)*] $($tool:ident)::+ $(, $($rest:tt)*)?) => {
        $crate::__tools!([$($done,)* $($tool::)+tool(),] $($($rest)*)?)
    };
}

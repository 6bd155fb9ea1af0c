//! Does the compiler refuse what must be impossible? Each example that must not compile has a twin beside it that
//! does, so that it fails for no other reason.
//!
//! The way from a call to an execution, as it has to be:
//!
//! ```no_run
//! use hermes_runtime::permission::{self, Authority};
//! use hermes_runtime::permission::Grant;
//! use hermes_runtime::validation::Args;
//! use hermes_runtime::{Call, adapter::Adapter, record::Facts, registry::Tool, validation};
//!
//! // Executing itself is the spine's alone.
//! async fn run(call: Call, tool: &Tool, adapter: &Adapter, authority: &Authority<'_>) -> (Grant, Args) {
//!     let preview = || validation::judge(tool, &call.args, std::time::Duration::from_secs(60));
//!     let permitted = permission::permit(&call, tool, adapter, authority, preview, &mut Facts::default()).await;
//!     let (grant, judged) = permitted.unwrap();
//!     let args = validation::admit(judged, &grant).unwrap();
//!     (grant, args)
//! }
//! ```
//!
//! Without permission:
//!
//! ```compile_fail
//! use hermes_runtime::sandbox::{self, Execution, Run, Sandbox};
//! use hermes_runtime::validation::Args;
//!
//! async fn run(sandbox: &Sandbox, args: Args, run: Run<'_>) -> Execution {
//!     sandbox::execute(sandbox, args, run).await
//! }
//! ```
//!
//! ```no_run
//! use hermes_runtime::permission::Grant;
//! use hermes_runtime::validation::Args;
//!
//! fn run(grant: Grant, args: Args) -> (Grant, Args) {
//!     (grant, args)
//! }
//! ```
//!
//! With arguments that nobody checked:
//!
//! ```compile_fail
//! use hermes_runtime::call::Judged;
//! use hermes_runtime::permission::Grant;
//! use hermes_runtime::sandbox::{self, Execution, Run, Sandbox};
//!
//! async fn run(sandbox: &Sandbox, grant: Grant, judged: Judged, run: Run<'_>) -> Execution {
//!     sandbox::execute(sandbox, grant, judged, run).await
//! }
//! ```
//!
//! A grant serves one execution:
//!
//! ```compile_fail
//! use hermes_runtime::permission::Grant;
//!
//! fn twice(grant: Grant) -> (Grant, Grant) {
//!     (grant.clone(), grant)
//! }
//! ```
//!
//! ```
//! use hermes_runtime::call::Judged;
//!
//! fn twice(judged: Judged) -> (Judged, Judged) {
//!     (judged.clone(), judged)
//! }
//! ```
//!
//! A grant made by hand, by its fields or from a default:
//!
//! ```compile_fail
//! use hermes_runtime::permission::Grant;
//!
//! fn forge(grant: &Grant) -> bool {
//!     grant.writable
//! }
//! ```
//!
//! ```
//! use hermes_runtime::permission::Grant;
//!
//! fn ask(grant: &Grant) -> bool {
//!     grant.writable()
//! }
//! ```
//!
//! ```compile_fail
//! use hermes_runtime::permission::Grant;
//!
//! fn forge(grant: Grant) -> Grant {
//!     Grant { writable: true, ..grant }
//! }
//! ```
//!
//! ```compile_fail
//! use hermes_runtime::permission::Grant;
//!
//! fn forge() -> Grant {
//!     Grant::default()
//! }
//! ```
//!
//! ```
//! use hermes_runtime::record::Facts;
//!
//! fn make() -> Facts {
//!     Facts::default()
//! }
//! ```
//!
//! Arguments made by hand:
//!
//! ```compile_fail
//! use hermes_runtime::validation::Args;
//!
//! fn forge(args: Args) -> Args {
//!     Args { canonical: "{}".into(), ..args }
//! }
//! ```
//!
//! ```
//! use hermes_runtime::call::Judged;
//!
//! fn change(judged: Judged) -> Judged {
//!     Judged { canonical: "{}".into(), ..judged }
//! }
//! ```

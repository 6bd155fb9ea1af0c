//! What starts the programs of tools and compiles components in tests? Nothing but the helper.

fn main() {
    hermes_runtime::helper_main();
}

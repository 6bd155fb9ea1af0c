//! What starts the programs of tools in tests? Nothing but the launcher.

fn main() {
    hermes_runtime::helper_main();
}

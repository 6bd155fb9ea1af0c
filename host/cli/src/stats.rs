//! What do the records say about the use of tools?

use crate::args::{Arguments, StatsCommand};
use crate::failure::Failure;
use crate::{learning, setup};

pub(crate) async fn run(arguments: &Arguments, command: &StatsCommand) -> Result<u8, Failure> {
    let runtime = setup::start(setup::load(arguments)?)?;
    match command {
        StatsCommand::Arguments { tool } => {
            learning::mistakes(&runtime, tool.as_deref(), arguments.output.format()).await
        }
    }
}

//! What can be said after `tools`?

use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(crate) enum ToolsCommand {
    /// List the tools
    List {
        /// Also those that the role may not call
        #[arg(long)]
        all: bool,
    },
    /// Show one tool's manifest and schema, with what was measured of it
    Show {
        /// Its name or alias, with @ and a requirement such as ^2 for another version than the newest
        tool: String,
    },
    /// Show the forms of one tool's arguments that went well, the most frequent first
    Template {
        /// Its name or alias
        tool: String,
    },
    /// Find tools by what they do, with the reason for each rank
    Search {
        /// Words for what you want to do
        #[arg(required = true, num_args = 1..)]
        words: Vec<String>,
        /// Most tools to list
        #[arg(long, short = 'n', default_value_t = 10)]
        limit: usize,
    },
    /// Take a tool out of service for good: calls of it are 410
    Retire {
        /// Its name or alias
        tool: String,
    },
    /// Take a tool out of service for now
    Disable {
        /// Its name or alias
        tool: String,
    },
    /// Bring a tool back into service; needs a person at a terminal
    Enable {
        /// Its name or alias
        tool: String,
    },
    /// Show what changed in tools, plugins and servers since it was accepted, and accept it; needs a person at a terminal
    Accept {
        /// Only these tools, adapters or servers; all without it
        names: Vec<String>,
    },
    /// Say all that is wrong with the manifests of a folder, a plugin or a folder of plugins; loads and runs nothing
    Check {
        /// The folder
        dir: PathBuf,
    },
    /// Print the JSON Schema of a manifest file, for editors
    Schema,
    /// Print the tools of the role as a model elsewhere is given them
    Export {
        /// In whose words
        #[arg(long, value_enum)]
        format: ExportFormat,
    },
    /// Make manifests of a list of functions, as OpenAI's and Anthropic's models are given it
    Import(ImportArguments),
}

/// Whose words a list of tools is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// Functions of OpenAI's chat completions
    Openai,
    /// Tools of Anthropic's messages
    Anthropic,
    /// Tools of the Model Context Protocol
    Mcp,
}

/// Manifests from a list of functions.
#[derive(Debug, Args)]
pub(crate) struct ImportArguments {
    /// The list, as JSON
    pub(crate) file: PathBuf,
    /// The adapter that runs them
    #[arg(long, value_name = "NAME")]
    pub(crate) adapter: String,
    /// A role that may call them; may be repeated, and without it nobody may
    #[arg(long = "allow", value_name = "ROLE")]
    pub(crate) roles: Vec<String>,
    /// Write a file for each into this folder, and replace none; print them without it
    #[arg(long, value_name = "DIR")]
    pub(crate) to: Option<PathBuf>,
}

//! What can be said on the command line?

use crate::author::AuthorCommand;
use crate::tools::arguments::ToolsCommand;
use clap::parser::ValueSource;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use hermes_runtime::config::Origin;
use std::path::PathBuf;

/// The runtime between an AI agent and the world: every tool call looked up, routed, permitted, validated, run in a
/// sandbox, shaped and written down.
#[derive(Debug, Parser)]
#[command(name = "hermes-dispatch", version, max_term_width = 100)]
pub(crate) struct Arguments {
    /// A configuration file in place of the user's own
    #[arg(long, global = true, env = "HERMES_CONFIG", value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The directory that tools see as /workspace [default: the current one]
    #[arg(long, global = true, env = "HERMES_WORKSPACE", value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// Another directory that tools may reach, as NAME=DIR[:ro|rw]
    #[arg(long, global = true, value_name = "NAME=DIR[:ro|rw]")]
    pub(crate) grant: Vec<String>,
    /// The role to act in, one that your configuration names
    #[arg(long, global = true, env = "HERMES_ROLE", value_name = "ROLE")]
    pub(crate) role: Option<String>,
    /// The workflow that the calls belong to
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) workflow: Option<String>,
    /// Whether the agent explores or follows the workflow
    #[arg(long, global = true, value_enum)]
    pub(crate) mode: Option<ModeArgument>,
    /// What the calls are for
    #[arg(long, global = true, value_name = "TEXT")]
    pub(crate) purpose: Option<String>,
    /// What the agent works on; told to the tool, changes no decision
    #[arg(long, global = true, value_name = "TEXT")]
    pub(crate) task: Option<String>,
    /// A file with an operator's token, in place of a person at a terminal; or $HERMES_OPERATOR_TOKEN has the token
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) operator_token_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: OutputArgument,
    /// Say on standard error what the runtime does
    #[arg(long, short, global = true)]
    pub(crate) verbose: bool,
    /// Who named the workspace.
    #[arg(skip = Origin::Default)]
    pub(crate) workspace_from: Origin,
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Arguments {
    /// Reads the command line. What is wrong with it is shown without what a terminal would obey.
    pub(crate) fn read() -> Result<Arguments, clap::Error> {
        let matches = Arguments::command().try_get_matches()?;
        let mut arguments = Arguments::from_arg_matches(&matches)?;
        arguments.workspace_from = match matches.value_source("workspace") {
            Some(ValueSource::CommandLine) => Origin::Flag,
            Some(ValueSource::EnvVariable) => Origin::Environment,
            _ => Origin::Default,
        };
        Ok(arguments)
    }
}

impl Arguments {
    /// Whether a person at the controlling terminal may be asked. Where an agent is served, the terminal is that of its
    /// client, who would draw over the question and could type the answer.
    pub(crate) fn may_ask(&self) -> bool {
        !matches!(self.command, Command::Run | Command::Serve(_))
    }
}

/// The form of answers.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct OutputArgument {
    /// How answers are printed [default: text on a terminal, json elsewhere]
    #[arg(id = "output", long = "output", short = 'o', global = true, value_enum, value_name = "FORMAT")]
    format: Option<Format>,
}

impl OutputArgument {
    pub(crate) fn format(self) -> Format {
        use std::io::IsTerminal;
        let usual = if std::io::stdout().is_terminal() { Format::Text } else { Format::Json };
        self.format.unwrap_or(usual)
    }
}

/// The form of answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Text,
    /// One indented JSON document
    Json,
    /// One JSON document a line
    Ndjson,
}

/// How the agent works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModeArgument {
    /// It looks around
    Explore,
    /// It follows a workflow
    Workflow,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make one call, or many
    Call(CallArguments),
    /// Serve one agent over standard input and output (MCP); its client starts this
    Run,
    /// Serve many agents over HTTP (MCP), on this machine or encrypted; each shows a token
    Serve(ServeArguments),
    /// Manage the tokens that agents show to `serve`
    #[command(subcommand)]
    Token(TokenCommand),
    /// Tell an agent's client about this runtime
    #[command(subcommand)]
    Client(ClientCommand),
    /// Take servers of others into your configuration; needs a person at a terminal or an operator's token
    #[command(subcommand)]
    Servers(ServersCommand),
    /// See which tools there are
    #[command(subcommand)]
    Tools(ToolsCommand),
    /// See what plugins are made of; write, build, test, fuzz, pack and install plugins
    #[command(subcommand)]
    Plugin(PluginCommand),
    /// See and try what is permitted, and what past decisions suggest
    #[command(subcommand)]
    Policy(PolicyCommand),
    /// See the circumstances of sessions; change them, or what counts of a caller: that needs a person at a terminal or an operator's token
    #[command(subcommand)]
    Session(SessionCommand),
    /// See which calls wait for a person, and decide them
    #[command(subcommand)]
    Approvals(ApprovalsCommand),
    /// See what the records say about the use of tools
    #[command(subcommand)]
    Stats(StatsCommand),
    /// Read and check the journal
    #[command(subcommand)]
    Audit(AuditCommand),
    /// See what happened in a session, and export it
    #[command(subcommand)]
    Trajectory(TrajectoryCommand),
    /// See what of cut results was used, and fit to it what is shown
    #[command(subcommand)]
    Results(ResultsCommand),
    /// See the settings in force
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Let the hermes.toml of the workspace name plugins and tools, as its files are now
    Trust(TrustArguments),
    /// Check that everything the runtime needs is there
    Doctor,
    /// Print the completions for a shell
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man {
        /// Write one page for each command into a directory
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
}

/// One call, or many.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hermes-dispatch call file_read path=README.md
  hermes-dispatch call file_search query=TODO max_results=5
  hermes-dispatch call file_read --args '{\"path\": \"README.md\", \"limit\": 3}'
  echo '{\"tool\": \"file_list\", \"args\": {}}' | hermes-dispatch call --batch -")]
pub(crate) struct CallArguments {
    /// The tool's name
    #[arg(required_unless_present = "batch")]
    pub(crate) tool: Option<String>,
    /// Arguments: key=text, or key:=JSON
    #[arg(value_name = "KEY=VALUE")]
    pub(crate) pairs: Vec<String>,
    /// All arguments as one JSON object
    #[arg(long, value_name = "JSON", conflicts_with_all = ["pairs", "args_file"])]
    pub(crate) args: Option<String>,
    /// All arguments as one JSON object from a file, or `-` for standard input
    #[arg(long, value_name = "FILE", conflicts_with = "pairs")]
    pub(crate) args_file: Option<PathBuf>,
    /// Many calls, one `{"tool": …, "args": {…}}` a line, from a file or `-` for standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["tool", "pairs", "args", "args_file"])]
    pub(crate) batch: Option<PathBuf>,
}

/// Serving over HTTP.
#[derive(Debug, Args)]
pub(crate) struct ServeArguments {
    /// The address to listen on; one of this machine's own unless a certificate is given
    #[arg(long, default_value = "127.0.0.1:7357", value_name = "ADDRESS")]
    pub(crate) listen: std::net::SocketAddr,
    /// The address of the page for approvals, which is served once there is an operator's token
    #[arg(long, default_value = "127.0.0.1:7358", value_name = "ADDRESS")]
    pub(crate) approvals: std::net::SocketAddr,
    /// Encrypt, with the certificates of this file (PEM, the server's own first)
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_certificate: Option<PathBuf>,
    /// The private key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    pub(crate) tls_key: Option<PathBuf>,
    /// A name of this machine that clients use, beside localhost; may be repeated
    #[arg(long = "name", value_name = "HOST")]
    pub(crate) names: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Make a token and show it, this once; `--role`, `--workflow`, `--mode` and `--purpose` say what it stands for
    Add {
        /// Whom it is for
        name: String,
        /// It lets its bearer decide what waits, on the page of `serve` and with commands, and call nothing
        #[arg(long)]
        operator: bool,
    },
    /// List the tokens
    List,
    /// Take a token back; it counts no more from its next request on
    Revoke {
        /// Whom it is for
        name: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ClientCommand {
    /// Write an entry into the client's own configuration
    Add(ClientAddArguments),
}

/// An entry in a client's configuration.
#[derive(Debug, Args)]
pub(crate) struct ClientAddArguments {
    /// Which client
    #[arg(value_enum)]
    pub(crate) client: ClientName,
    /// Show the entry and where it belongs; write nothing
    #[arg(long)]
    pub(crate) print: bool,
    /// What the client calls this runtime
    #[arg(long, default_value = "hermes", value_name = "NAME")]
    pub(crate) name: String,
    /// Replace another entry of that name
    #[arg(long)]
    pub(crate) replace: bool,
}

/// The clients whose configuration is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ClientName {
    /// `~/.claude.json`, for this workspace
    ClaudeCode,
    /// `~/.cursor/mcp.json`
    Cursor,
    /// `~/.codex/config.toml`
    Codex,
    /// `mcp.json` of the usual profile
    Vscode,
    /// `~/.codeium/windsurf/mcp_config.json`
    Windsurf,
    /// `~/.gemini/settings.json`
    Gemini,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ServersCommand {
    /// Add the servers that a client's `mcp.json` names, after they were shown
    Import(ServersImportArguments),
}

/// Servers from a client's file.
#[derive(Debug, Args)]
pub(crate) struct ServersImportArguments {
    /// The file, such as `.mcp.json` or `.cursor/mcp.json`
    pub(crate) file: PathBuf,
    /// Only show what would be added
    #[arg(long)]
    pub(crate) print: bool,
    /// Replace servers of the same names
    #[arg(long)]
    pub(crate) replace: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum StatsCommand {
    /// Show how tools are used and how well they work, with names that no tool has and tools that nobody uses
    Tools {
        /// Show on which days of the last four weeks each was asked for
        #[arg(long)]
        heat: bool,
    },
    /// The same by adapter
    Adapters {
        /// Show on which days of the last four weeks each was asked for
        #[arg(long)]
        heat: bool,
    },
    /// Show what of cut results the next calls used; the same as `results stats`
    Results,
    /// List the mistakes that are made with arguments, the most frequent first
    Arguments {
        /// Only those of one tool
        tool: Option<String>,
    },
    /// Count what was denied, by tool, role, layer and reason, the most frequent first
    Denials {
        /// Only those of one tool
        tool: Option<String>,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum PluginCommand {
    /// Show what a component asks for, what of it is empty and what it would be granted; runs and compiles nothing
    Inspect {
        /// A plugin's folder, a component's file, or the name of a built-in adapter
        plugin: PathBuf,
    },
    #[command(flatten)]
    Author(AuthorCommand),
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// List the last calls and what happened beside them, the newest last
    List {
        /// How many
        #[arg(long, short = 'n', default_value_t = 20)]
        limit: u32,
    },
    /// Show all that was written about one call
    Show {
        /// Its id, or the beginning of it
        call_id: String,
    },
    /// List the last incidents: what of high risk was refused, and what nobody knows the outcome of
    Incidents {
        /// How many
        #[arg(long, short = 'n', default_value_t = 20)]
        limit: u32,
    },
    /// Check that no record was changed, added or taken away
    Verify {
        /// Check an export instead of the journal
        #[arg(long, value_name = "FILE")]
        export: Option<PathBuf>,
        /// Check also that what this checkpoint saw is still there
        #[arg(long, value_name = "FILE")]
        checkpoint: Option<PathBuf>,
    },
    /// Write the whole journal, one record a line, for somebody who checks it elsewhere
    Export {
        /// The file to write, or `-` for standard output
        #[arg(default_value = "-")]
        file: PathBuf,
    },
    /// Print the signed end of the journal, to be kept elsewhere
    Checkpoint,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TrajectoryCommand {
    /// List the last sessions, the newest last
    List {
        /// How many
        #[arg(long, short = 'n', default_value_t = 20)]
        limit: u32,
    },
    /// Show the calls of one session in order
    Show {
        /// Its name, or the beginning of it
        session: String,
    },
    /// Export a session, masked as it was recorded
    Export {
        /// Its name, or the beginning of it
        session: String,
        /// In which form
        #[arg(long = "as", value_enum, default_value = "rl")]
        form: ExportForm,
    },
    /// Run the components of recorded calls again on what was recorded, and report the first divergence; nothing real is
    /// reached
    Replay {
        /// A session's name or the id of a call, or the beginning of it
        session: String,
        /// Run nothing, and answer each call as it was answered
        #[arg(long)]
        answers: bool,
        /// The calls, one `{"tool": …, "args": {…}}` a line, or `-` for standard input; those of the session itself
        /// if left out
        #[arg(long, value_name = "FILE", requires = "answers")]
        calls: Option<PathBuf>,
    },
    /// Show what a session has learnt, one line a call
    Memory {
        /// Its name, or the beginning of it
        session: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ResultsCommand {
    /// Show what of cut results the next calls used
    Stats,
    /// Fit the weights of relevance to what was used, and show recall before and after on results that were held out
    Tune {
        /// Only show what it would come to
        #[arg(long)]
        dry_run: bool,
    },
    /// Take the last fit back
    Undo,
}

/// The form of an exported session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportForm {
    /// One line a call, with reward signals
    Rl,
    /// One chat with tools
    Chat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// List all statements in force
    List,
    /// Print the Cedar schema of a tool
    Schema {
        /// Its name or alias
        tool: String,
    },
    /// Say what would become of a call, and why; nothing runs
    Explain(CallArguments),
    /// Print what each role gets of each tool
    Matrix {
        /// Only these roles
        #[arg(long = "of", value_name = "ROLE")]
        of: Vec<String>,
        /// Only these tools
        #[arg(long, value_name = "TOOL")]
        tool: Vec<String>,
    },
    /// Run the table tests of a file
    Test {
        /// `[[test]]` tables: name, role, tool, args, workflow, purpose, mode, history, and the expected outcome, level
        /// and risk
        file: PathBuf,
    },
    /// Decide recorded calls again under the policies in force now
    Replay,
    /// Propose rules where people always decided alike; changes nothing
    Suggest,
    /// Print past decisions as labelled samples, one a line
    Samples,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionCommand {
    /// What a caller has read from outside counts no more
    ClearTaint {
        /// The caller, such as local:1000; yourself without it
        caller: Option<String>,
    },
    /// See the last sessions, and what a person has set for them
    Show {
        /// Its name, or the beginning of it
        session: Option<String>,
    },
    /// Set the circumstances of a session with `--workflow`, `--mode` and `--purpose`, from its next call on
    Set {
        /// Its name, or the beginning of it
        session: String,
        /// Take back what was set
        #[arg(long)]
        clear: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ApprovalsCommand {
    /// List the calls that wait, the oldest first
    List {
        /// Also those that were decided, or that nobody decided
        #[arg(long)]
        all: bool,
    },
    /// Show all of one
    Show {
        /// Its id, or the beginning of it
        id: String,
    },
    /// Say yes to one, after it was shown; needs a person at a terminal or an operator's token
    Approve(ApproveArguments),
    /// Say no to one; needs a person at a terminal or an operator's token
    Deny(DenyArguments),
    /// Show each as it comes, and ask; needs a person at a terminal
    Watch,
    /// Take back a yes, a no, or a question that waits; needs a person at a terminal or an operator's token
    Forget {
        /// Its id, or the beginning of it
        id: String,
    },
    /// Let the calls of a halted caller run again; needs a person at a terminal or an operator's token
    Resume {
        /// The caller, such as local:1000
        caller: String,
    },
}

/// A yes.
#[derive(Debug, Args)]
pub(crate) struct ApproveArguments {
    /// Its id, or the beginning of it
    pub(crate) id: String,
    /// For the same call again, in the session that asked
    #[arg(long, conflicts_with = "for")]
    pub(crate) session: bool,
    /// For the same call again, for so many minutes, in any session
    #[arg(long, value_name = "MINUTES", value_parser = clap::value_parser!(u64).range(1..=43_200))]
    pub(crate) r#for: Option<u64>,
}

/// A no.
#[derive(Debug, Args)]
pub(crate) struct DenyArguments {
    /// Its id, or the beginning of it
    pub(crate) id: String,
    /// Why; the caller is told
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Show the settings in force
    Show {
        /// And where each comes from
        #[arg(long)]
        origin: bool,
    },
}

/// Trusting a project.
#[derive(Debug, Args)]
pub(crate) struct TrustArguments {
    /// Take the trust back
    #[arg(long)]
    pub(crate) revoke: bool,
}

//! The command lines of `hodo ship` and `hodo push`.

use clap::Args;
use clap::builder::{BoolishValueParser, OsStringValueParser, TypedValueParser};
use std::ffi::OsStr;
use std::path::PathBuf;

/// What the help of `hodo ship` shows.
pub const SHIP_EXAMPLES: &str = "\
Examples:
  hodo ship 20261115-2015 --to https://collector.example:7430     until the run has ended and is there
  hodo ship 20261115-2015 --once --token-file ~/.hodo-token
  HODO_SERVER=https://collector.example:7430 HODO_TOKEN_FILE=~/.hodo-token hodo run -- python train.py";

/// What the help of `hodo push` shows.
pub const PUSH_EXAMPLES: &str = "\
Examples:
  hodo push --to https://collector.example:7430                   the newest run
  hodo push 20261115-2015 20261115-2020 --token-file ~/.hodo-token
  hodo push archive/run                                           packed or imported, it is the same";

/// Where to send runs, and with what.
#[derive(Args, Clone, Debug)]
pub struct ServerArgs {
    /// Address of the collector, a `hodo serve`.
    #[arg(long = "to", value_name = "URL", env = "HODO_SERVER", hide_env_values = true)]
    pub to: Option<String>,

    /// File that has the token; if left out, HODO_TOKEN has it, or the file that HODO_TOKEN_FILE names.
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,

    /// Certificates to believe, a PEM file, instead of the system's.
    #[arg(long, value_name = "FILE", env = "HODO_CA", hide_env_values = true, value_parser = OsStringValueParser::new().map(PathBuf::from))]
    pub ca: Option<PathBuf>,

    /// Send the token to another machine by http://, where everyone on the way can read it.
    #[arg(long, env = "HODO_PLAIN_HTTP", hide_env_values = true, value_parser = Consent)]
    pub plain_http: bool,

    /// How long one request may take.
    #[arg(long, value_name = "TIME", default_value = "60s", hide = true)]
    pub patience: String,
}

/// Yes or no; a variable that is there and empty is none.
#[derive(Clone)]
struct Consent;

impl TypedValueParser for Consent {
    type Value = bool;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<bool, clap::Error> {
        match value.is_empty() {
            true => Ok(false),
            false => BoolishValueParser::new().parse_ref(command, arg, value),
        }
    }
}

/// `hodo ship`.
#[derive(Args, Debug)]
pub struct ShipArgs {
    /// Run folder, or the beginning of a run's id; the newest run if left out.
    #[arg(value_name = "RUN")]
    pub run: Option<String>,

    #[command(flatten)]
    pub server: ServerArgs,

    /// Go on until every process of this host has ended and all of the run is there; so it does if nothing is said.
    #[arg(long, conflicts_with = "once")]
    pub follow: bool,

    /// Send what is there now, and end.
    #[arg(long)]
    pub once: bool,

    /// How long the collector may take nothing before it is given up, with its unit.
    #[arg(long, value_name = "TIME", default_value = "24h")]
    pub give_up_after: String,

    /// Say nothing but what goes wrong.
    #[arg(short, long)]
    pub quiet: bool,

    /// Started by a program that is recorded: a session of its own, a log in the run's folder.
    #[arg(long, hide = true, requires = "run")]
    pub detached: bool,

    /// More may come as long as standard input is open.
    #[arg(long, hide = true, requires = "detached")]
    pub while_open: bool,
}

/// `hodo push`.
#[derive(Args, Debug)]
pub struct PushArgs {
    /// Run folders, or the beginnings of their ids; the newest run if left out.
    #[arg(value_name = "RUN")]
    pub runs: Vec<String>,

    #[command(flatten)]
    pub server: ServerArgs,

    /// How long the collector may take nothing before it is given up, with its unit.
    #[arg(long, value_name = "TIME", default_value = "1min")]
    pub give_up_after: String,

    /// Processes of other hosts have ended, also where nothing in their files says so: then all of the run is there.
    #[arg(long)]
    pub ended: bool,

    /// Print one JSON document instead of text.
    #[arg(long)]
    pub json: bool,
}

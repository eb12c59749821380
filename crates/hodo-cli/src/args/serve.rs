//! The command line of `hodo serve`.

use clap::{Args, Subcommand, ValueEnum};
use hodo_server::TokenKind;
use std::net::SocketAddr;
use std::path::PathBuf;

/// What the help shows.
pub const SERVE_EXAMPLES: &str = "\
Examples:
  hodo serve                                    on this machine; prints its tokens the first time
  hodo serve --dir store --bind 127.0.0.1:0     another folder, any port that is free
  hodo serve token add team-a --kind ingest
  hodo serve token list";

/// Where it listens if nothing is said.
pub const BIND: &str = "127.0.0.1:7430";

/// `hodo serve`.
#[derive(Args, Debug)]
pub struct ServeArgs {
    #[command(subcommand)]
    pub verb: Option<ServeVerb>,

    /// Address and port to listen on; port 0 takes any that is free. Beyond this machine only with TLS, or behind a proxy that does it.
    #[arg(long, value_name = "ADDR:PORT", default_value = BIND)]
    pub bind: SocketAddr,

    /// Certificate chain, a PEM file: connections are by TLS.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,

    /// Its key, a PEM file.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,

    /// A proxy in front does TLS and is the only one who reaches this address.
    #[arg(long, conflicts_with = "tls_cert")]
    pub behind_proxy: bool,

    /// A name it is reached by, besides localhost and the address; may be given several times.
    #[arg(long, value_name = "NAME")]
    pub host: Vec<String>,

    /// Bytes that all runs may take, as 500GiB; the oldest ended runs make room, and then there is none.
    #[arg(long, value_name = "BYTES")]
    pub max_bytes: Option<String>,

    /// Days to keep a run after it was heard of last; for ever if left out.
    #[arg(long, value_name = "DAYS")]
    pub keep: Option<f64>,

    /// How long a run is silent before it counts as ended, and is packed.
    #[arg(long, value_name = "TIME", default_value = "10min")]
    pub quiet_after: String,

    /// Where packed runs are kept besides: file:///srv/runs, s3://bucket/runs, gs://bucket/runs or an http(s):// address. What --max-bytes then limits is what lies here; the rest comes back when it is asked for.
    #[arg(long, value_name = "URL")]
    pub store: Option<String>,

    /// Requests a second with one token; 1000 if left out, and a token may have a number of its own.
    #[arg(long, value_name = "NUMBER")]
    pub rate: Option<u32>,
}

/// What else `hodo serve` does.
#[derive(Debug, Subcommand)]
pub enum ServeVerb {
    /// Make, list and remove tokens; a server that runs knows of it at once.
    #[command(subcommand)]
    Token(TokenVerb),
}

/// `hodo serve token`.
#[derive(Debug, Subcommand)]
pub enum TokenVerb {
    /// Make a token and print it, this once.
    Add(TokenArgs),
    /// List the tokens: name, kind, limits. Their text is not kept.
    List {
        /// Print one JSON document instead of text.
        #[arg(long)]
        json: bool,
    },
    /// Give a token another text and print it, this once: the old one is worth nothing from then on, and its runs stay its own.
    Rotate {
        /// Its name.
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Remove a token: it is worth nothing from then on. Its runs stay.
    Remove {
        /// Its name.
        #[arg(value_name = "NAME")]
        name: String,
    },
}

/// `hodo serve token add`.
#[derive(Args, Debug)]
pub struct TokenArgs {
    /// A name for it.
    #[arg(value_name = "NAME")]
    pub name: String,

    /// What it is for.
    #[arg(long, value_enum, value_name = "KIND")]
    pub kind: Kind,

    /// Bytes that the runs it sends may take, as 50GiB.
    #[arg(long, value_name = "BYTES")]
    pub max_bytes: Option<String>,

    /// Requests a second.
    #[arg(long, value_name = "NUMBER")]
    pub rate: Option<u32>,
}

/// What a token is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// Sends runs.
    Ingest,
    /// Reads them.
    Read,
    /// Both, of all runs, and removes them.
    Admin,
}

impl From<Kind> for TokenKind {
    fn from(kind: Kind) -> TokenKind {
        match kind {
            Kind::Ingest => TokenKind::Ingest,
            Kind::Read => TokenKind::Read,
            Kind::Admin => TokenKind::Admin,
        }
    }
}

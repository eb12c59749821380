//! The tables of a run: their names, their columns, how each is stored. The one home of all three;
//! `docs/parquet.md` explains them.

use Coding::{Codes, Delta, Plain};
use Kind::{Number, Text, Whole};

/// Version of the tables. Readers refuse a newer one; a column more is no new version.
pub const SCHEMA: u32 = 1;
/// Rows that are stored together and can be read apart.
pub const GROUP_ROWS: usize = 1 << 20;
/// Key of a file's metadata that holds [`SCHEMA`].
pub const SCHEMA_KEY: &str = "hodo.schema";
/// Key of a file's metadata that holds [`Table::name`].
pub const TABLE_KEY: &str = "hodo.table";

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Signed whole numbers.
    Whole,
    /// Floats.
    Number,
    /// Texts.
    Text,
}

/// How a column is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// As the difference to the value before, in as few bits as that takes.
    Delta,
    /// Every distinct value once, and a number for each row; where too many differ, whole numbers
    /// as [`Coding::Delta`] and texts as they are.
    Codes,
    /// As it is.
    Plain,
}

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name; a unit at the end says what its numbers count.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// How it is stored.
    pub coding: Coding,
    /// Whether values may be missing.
    pub optional: bool,
}

const fn field(name: &'static str, kind: Kind, coding: Coding) -> Field {
    Field { name, kind, coding, optional: false }
}

/// Texts that repeat.
const fn text(name: &'static str) -> Field {
    field(name, Text, Codes)
}

/// Whole numbers that repeat.
const fn code(name: &'static str) -> Field {
    field(name, Whole, Codes)
}

/// Whole numbers that grow, or that are close to each other.
const fn whole(name: &'static str) -> Field {
    field(name, Whole, Delta)
}

/// Whole numbers as they come.
const fn plain(name: &'static str) -> Field {
    field(name, Whole, Plain)
}

const fn number(name: &'static str) -> Field {
    field(name, Number, Plain)
}

impl Field {
    /// The same, of which values may be missing.
    const fn or_none(mut self) -> Field {
        self.optional = true;
        self
    }
}

/// A table. The first eight are for everyone; the others hold what only hodo needs to read the run
/// again exactly as it was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// A row a scope.
    Spans,
    /// A row a mark.
    Marks,
    /// A row an attribute of a scope.
    Attrs,
    /// A row a kernel.
    Kernels,
    /// A row a copy, a set, a wait, memory taken or given back.
    Copies,
    /// A row a reading of the machine.
    Samples,
    /// A row a process.
    Processes,
    /// Where every record went.
    Health,
    /// Beside [`Table::Spans`], row by row.
    SpanTicks,
    /// Beside [`Table::Marks`], row by row.
    MarkTicks,
    /// Beside [`Table::Attrs`], row by row.
    AttrWords,
    /// GPU work of any sort, as it was recorded.
    Work,
    /// Readings as the sampler made them.
    Readings,
}

impl Table {
    /// The tables that every run has, for everyone.
    pub const ALL: [Table; 8] = [
        Table::Spans,
        Table::Marks,
        Table::Attrs,
        Table::Kernels,
        Table::Copies,
        Table::Samples,
        Table::Processes,
        Table::Health,
    ];

    /// Its name, which its folder has too.
    pub fn name(self) -> &'static str {
        match self {
            Table::Spans => "spans",
            Table::Marks => "marks",
            Table::Attrs => "attrs",
            Table::Kernels => "kernels",
            Table::Copies => "copies",
            Table::Samples => "samples",
            Table::Processes => "processes",
            Table::Health => "health",
            Table::SpanTicks => "span_ticks",
            Table::MarkTicks => "mark_ticks",
            Table::AttrWords => "attr_words",
            Table::Work => "work",
            Table::Readings => "readings",
        }
    }

    /// Its columns, in order.
    pub fn fields(self) -> &'static [Field] {
        match self {
            Table::Spans => SPANS,
            Table::Marks => MARKS,
            Table::Attrs => ATTRS,
            Table::Kernels => KERNELS,
            Table::Copies => COPIES,
            Table::Samples => SAMPLES,
            Table::Processes => PROCESSES,
            Table::Health => HEALTH,
            Table::SpanTicks => SPAN_TICKS,
            Table::MarkTicks => MARK_TICKS,
            Table::AttrWords => ATTR_WORDS,
            Table::Work => WORK,
            Table::Readings => READINGS,
        }
    }

    /// Whether it is for everyone.
    pub fn is_public(self) -> bool {
        Table::ALL.contains(&self)
    }
}

const SPANS: &[Field] = &[
    text("run"),
    text("process"),
    code("pid"),
    code("rank").or_none(),
    code("thread"),
    text("thread_name"),
    whole("id"),
    whole("parent").or_none(),
    text("parent_process").or_none(),
    text("name"),
    text("path"),
    code("depth"),
    code("index").or_none(),
    whole("start_ns").or_none(),
    code("duration_ns").or_none(),
    code("self_ns").or_none(),
    code("cpu_ns").or_none(),
    text("cpu_not_captured").or_none(),
    code("overhead_ns").or_none(),
    code("gpu_busy_ns").or_none(),
    code("kernels").or_none(),
    text("state"),
    text("kind").or_none(),
    text("attributes").or_none(),
];

const MARKS: &[Field] = &[
    text("run"),
    text("process"),
    code("pid"),
    code("rank").or_none(),
    whole("scope").or_none(),
    text("path").or_none(),
    text("name"),
    text("kind"),
    whole("at_ns").or_none(),
    number("value").or_none(),
    text("text").or_none(),
    text("attributes").or_none(),
];

const ATTRS: &[Field] = &[
    text("run"),
    text("process"),
    whole("scope"),
    text("name").or_none(),
    text("key"),
    text("type"),
    text("value"),
    number("number").or_none(),
];

const KERNELS: &[Field] = &[
    text("run"),
    text("process"),
    code("pid"),
    code("rank").or_none(),
    code("device"),
    code("context"),
    code("stream"),
    text("kind"),
    text("name"),
    text("short_name"),
    whole("start_ns").or_none(),
    code("duration_ns").or_none(),
    whole("launched_ns").or_none(),
    whole("correlation"),
    whole("scope").or_none(),
    text("path").or_none(),
    text("scope_by"),
    code("grid_x"),
    code("grid_y"),
    code("grid_z"),
    code("block_x"),
    code("block_y"),
    code("block_z"),
    code("registers"),
    code("static_shared_bytes"),
    code("dynamic_shared_bytes"),
    code("graph").or_none(),
    code("graph_node").or_none(),
    code("idle_before_ns").or_none(),
];

const COPIES: &[Field] = &[
    text("run"),
    text("process"),
    code("pid"),
    code("rank").or_none(),
    code("device"),
    code("context"),
    code("stream"),
    text("kind"),
    text("name").or_none(),
    whole("start_ns").or_none(),
    code("duration_ns").or_none(),
    code("bytes").or_none(),
    whole("launched_ns").or_none(),
    whole("correlation"),
    whole("scope").or_none(),
    text("path").or_none(),
    text("scope_by"),
    code("graph").or_none(),
    code("graph_node").or_none(),
];

const SAMPLES: &[Field] = &[
    text("run"),
    text("host"),
    text("source"),
    text("metric"),
    text("unit"),
    whole("time_ns"),
    number("value").or_none(),
];

const PROCESSES: &[Field] = &[
    text("run"),
    text("process"),
    code("pid"),
    code("parent_pid"),
    text("host"),
    code("rank").or_none(),
    code("local_rank").or_none(),
    code("world_size").or_none(),
    text("argv"),
    whole("start_ns").or_none(),
    whole("end_ns").or_none(),
    text("state"),
    text("parent_process").or_none(),
    whole("parent_scope").or_none(),
    code("threads"),
    code("spans"),
    code("marks"),
    text("clock"),
    code("imported"),
];

const HEALTH: &[Field] = &[
    text("run"),
    text("process"),
    code("thread").or_none(),
    text("what"),
    text("reason").or_none(),
    code("spans").or_none(),
    code("marks").or_none(),
    code("attrs").or_none(),
    code("records"),
];

const SPAN_TICKS: &[Field] = &[
    code("bits"),
    code("start").or_none(),
    code("duration").or_none(),
    code("cpu").or_none(),
    code("overhead").or_none(),
];

const MARK_TICKS: &[Field] = &[code("name"), code("at"), code("sort"), plain("word"), code("own")];

const ATTR_WORDS: &[Field] = &[code("key"), code("sort"), plain("word")];

const WORK: &[Field] = &[
    code("flags"),
    code("device"),
    code("context"),
    code("stream"),
    whole("start"),
    code("length"),
    whole("correlation"),
    whole("span"),
    whole("launched"),
    code("thread"),
    code("graph"),
    code("node"),
    code("captured"),
    code("forward"),
    code("sort"),
    code("name"),
    code("grid_x"),
    code("grid_y"),
    code("grid_z"),
    code("block_x"),
    code("block_y"),
    code("block_z"),
    code("registers"),
    code("static_shared"),
    code("dynamic_shared"),
    code("local"),
    code("bytes"),
    whole("address"),
];

const READINGS: &[Field] = &[code("series"), whole("time_ns"), number("value")];

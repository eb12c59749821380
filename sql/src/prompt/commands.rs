//! Commands that begin with a dot.

use hodo_sql::{Session, SqlError, VIEWS};

/// Their names, with what they do.
pub const COMMANDS: [(&str, &str); 4] = [
    (".tables", "the tables and views"),
    (".schema", "the columns of all of them; .schema TABLE of one"),
    (".help", "this"),
    (".quit", "leave, as Ctrl-D does"),
];

/// What a line asks for that is no SQL.
#[derive(Debug, PartialEq, Eq)]
pub enum Command<'a> {
    Tables,
    Schema(Option<&'a str>),
    Help,
    Quit,
    Unknown(&'a str),
}

impl<'a> Command<'a> {
    /// None when the line is SQL.
    pub fn parse(line: &'a str) -> Option<Command<'a>> {
        let line = line.trim_end_matches(';').trim();
        if !line.starts_with('.') {
            return None;
        }
        let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = Some(rest.trim()).filter(|rest| !rest.is_empty());
        Some(match name {
            ".tables" => Command::Tables,
            ".schema" => Command::Schema(rest),
            ".help" => Command::Help,
            ".quit" | ".exit" => Command::Quit,
            other => Command::Unknown(other),
        })
    }

    /// Prints what it asks for.
    pub async fn run(self, session: &Session) -> Result<(), SqlError> {
        match self {
            Command::Tables => tables(session),
            Command::Schema(Some(table)) => schema(session, table).await?,
            Command::Schema(None) => {
                for table in session.tables() {
                    schema(session, &table).await?;
                }
            }
            Command::Help => help(),
            Command::Quit => {}
            Command::Unknown(name) => {
                return Err(SqlError::Query(format!("no command {name}; .help shows them")));
            }
        }
        Ok(())
    }
}

fn tables(session: &Session) {
    for name in session.tables() {
        match VIEWS.iter().find(|(view, ..)| *view == name) {
            Some((.., row)) => println!("{name:18} view: a row is {row}"),
            None => println!("{name:18} table"),
        }
    }
}

async fn schema(session: &Session, table: &str) -> Result<(), SqlError> {
    let schema = session.schema(table).await?;
    println!("{table}");
    for field in schema.fields() {
        println!("  {:22} {}", field.name(), type_name(&field.data_type().to_string()));
    }
    Ok(())
}

/// The types of the tables as SQL writes them.
fn type_name(arrow: &str) -> &str {
    match arrow {
        "Int64" => "bigint",
        "Float64" => "double",
        "Utf8View" | "Utf8" => "text",
        other => other,
    }
}

fn help() {
    println!("SQL that ends with a semicolon, on one line or several; Ctrl-C stops a query.\n");
    for (name, what) in COMMANDS {
        println!("  {name:10} {what}");
    }
    println!("\nTry: select * from tree;");
}

/// The columns of every table.
pub async fn columns(session: &Session) -> Vec<String> {
    let mut names = Vec::new();
    for table in session.tables() {
        if let Ok(schema) = session.schema(&table).await {
            names.extend(schema.fields().iter().map(|field| field.name().clone()));
        }
    }
    names.sort();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dot_makes_a_command() {
        assert_eq!(Command::parse("select 1;"), None);
        assert_eq!(Command::parse(".tables"), Some(Command::Tables));
        assert_eq!(Command::parse(".schema  spans ;"), Some(Command::Schema(Some("spans"))));
        assert_eq!(Command::parse(".schema"), Some(Command::Schema(None)));
        assert_eq!(Command::parse(".exit"), Some(Command::Quit));
        assert_eq!(Command::parse(".x"), Some(Command::Unknown(".x")));
    }
}

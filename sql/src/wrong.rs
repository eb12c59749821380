//! The engine's errors in words that help: where the syntax breaks, what was probably meant.

use crate::SqlError;
use crate::nearest::nearest;
use datafusion::common::SchemaError;
use datafusion::error::DataFusionError;

/// An error of planning or running `text`; `tables` are the tables there are.
pub fn explain(error: DataFusionError, text: &str, tables: &[String]) -> SqlError {
    match error.find_root() {
        DataFusionError::SQL(parser, _) => SqlError::Query(syntax(&parser.to_string(), text)),
        DataFusionError::SchemaError(schema, _) => SqlError::Query(column(schema)),
        DataFusionError::ResourcesExhausted(why) => SqlError::Limit(exhausted(why)),
        DataFusionError::Plan(why) => SqlError::Query(table(why, tables)),
        DataFusionError::ObjectStore(_)
        | DataFusionError::ParquetError(_)
        | DataFusionError::IoError(_) => SqlError::Source(format!("cannot read the run: {error}")),
        DataFusionError::ArrowError(arrow, _) => {
            SqlError::Query(format!("the query fails: {arrow}"))
        }
        DataFusionError::Execution(why) => SqlError::Query(format!("the query fails: {why}")),
        DataFusionError::NotImplemented(why) => SqlError::Query(format!("not supported: {why}")),
        root => SqlError::Failed(first_line(&root.strip_backtrace()).to_owned()),
    }
}

/// The message, and the line with a mark under the place.
fn syntax(message: &str, text: &str) -> String {
    let message = message.trim_start_matches("sql parser error: ");
    let message =
        message.strip_prefix("ParserError(\"").map_or(message, |m| m.trim_end_matches("\")"));
    let Some((what, place)) = message.rsplit_once(" at Line: ") else {
        return format!("syntax error: {message}");
    };
    let (line, column) = place.split_once(", Column: ").unwrap_or((place, "1"));
    let number = |digits: &str| digits.trim().parse::<usize>().unwrap_or(1).max(1);
    let (line, column) = (number(line), number(column));
    let shown = text.lines().nth(line - 1).unwrap_or("");
    let mark = " ".repeat(column - 1) + "^";
    format!("syntax error: {what}, in line {line}\n  {shown}\n  {mark}")
}

fn column(error: &SchemaError) -> String {
    let SchemaError::FieldNotFound { field, valid_fields } = error else {
        return error.to_string();
    };
    let mut names: Vec<&str> = valid_fields.iter().map(|column| column.name.as_str()).collect();
    names.dedup();
    let meant = nearest(&field.name, names.iter().copied());
    let meant = meant.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
    let there = match names.is_empty() {
        true => String::new(),
        false => format!("\n  there are: {}", names.join(", ")),
    };
    format!("no column `{}`{meant}{there}", field.name)
}

fn table(why: &str, tables: &[String]) -> String {
    let name = why.strip_prefix("table '").and_then(|rest| rest.strip_suffix("' not found"));
    let Some(name) = name else { return why.to_owned() };
    let name = name.rsplit('.').next().unwrap_or(name);
    let meant = nearest(name, tables.iter().map(String::as_str));
    let meant = meant.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
    format!("no table `{name}`{meant}\n  there are: {}", tables.join(", "))
}

fn exhausted(why: &str) -> String {
    format!(
        "the query needs more memory than it may take; --memory gives it more, fewer columns or \
         rows need less ({})",
        first_line(why)
    )
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_a_syntax_error_is_marked() {
        let text = "select *\nfrm spans";
        let message =
            "sql parser error: Expected: end of statement, found: spans at Line: 2, Column: 5";
        assert_eq!(
            syntax(message, text),
            "syntax error: Expected: end of statement, found: spans, in line 2\n  frm spans\n      ^"
        );
        assert_eq!(syntax("odd", text), "syntax error: odd");
    }

    #[test]
    fn an_unknown_table_is_told_with_the_nearest() {
        let tables = ["spans".to_owned(), "marks".to_owned()];
        assert_eq!(
            table("table 'hodo.runs.span' not found", &tables),
            "no table `span`; did you mean `spans`?\n  there are: spans, marks"
        );
    }
}

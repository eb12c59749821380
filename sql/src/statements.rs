//! A text of SQL as statements, and which of them may run: those that only read.

use crate::SqlError;
use crate::wrong;
use datafusion::logical_expr::sqlparser::ast::Statement as Ast;
use datafusion::logical_expr::sqlparser::dialect::GenericDialect;
use datafusion::logical_expr::sqlparser::tokenizer::{Token, Tokenizer};
use datafusion::sql::parser::{DFParserBuilder, Statement};

/// The statements of a text; an error for the first that may not run.
pub fn statements(text: &str) -> Result<Vec<Statement>, SqlError> {
    let parsed =
        DFParserBuilder::new(text).build().and_then(|mut parser| parser.parse_statements());
    let parsed = parsed.map_err(|error| wrong::explain(error, text, &[]))?;
    match parsed.iter().find(|statement| !only_reads(statement)) {
        Some(statement) => Err(SqlError::NotAllowed(format!(
            "not allowed: {}. hodo sql only reads: select, with, values, explain, show and describe",
            first_word(statement)
        ))),
        None => Ok(parsed.into()),
    }
}

fn only_reads(statement: &Statement) -> bool {
    match statement {
        Statement::Statement(ast) => matches!(
            **ast,
            Ast::Query(_)
                | Ast::ShowTables { .. }
                | Ast::ShowColumns { .. }
                | Ast::ShowFunctions { .. }
                | Ast::ExplainTable { .. }
        ),
        Statement::Explain(explain) => only_reads(&explain.statement),
        _ => false,
    }
}

fn first_word(statement: &Statement) -> String {
    let text = statement.to_string();
    text.split_whitespace().take(2).collect::<Vec<_>>().join(" ").to_lowercase()
}

/// Whether a text ends a statement: its last word is a semicolon that is in no quotes and no comment.
pub fn is_ended(text: &str) -> bool {
    // An open quote or comment is an error here.
    let tokens = Tokenizer::new(&GenericDialect {}, text).tokenize().unwrap_or_default();
    let last = tokens.iter().rfind(|token| !matches!(token, Token::Whitespace(_)));
    last == Some(&Token::SemiColon)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_reads_may_run() {
        for text in [
            "select 1",
            "with a as (select 1) select * from a",
            "values (1)",
            "explain select 1",
            "explain analyze select 1",
            "show tables",
            "show columns from spans",
            "describe spans",
            "(select 1) union all select 2",
        ] {
            assert!(statements(text).is_ok(), "{text}: {:?}", statements(text));
        }
        assert_eq!(statements("select 1; select 2;").unwrap().len(), 2);
    }

    #[test]
    fn what_writes_or_reaches_out_may_not() {
        for text in [
            "copy spans to 'x.csv'",
            "copy (select 1) to 'x.csv' stored as csv",
            "insert into spans values (1)",
            "insert overwrite spans select * from spans",
            "create table t as select 1",
            "create view v as select 1",
            "create external table t stored as csv location '/etc/passwd'",
            "create schema s",
            "create database d",
            "create function f() returns int return 1",
            "drop table spans",
            "drop view tree",
            "delete from spans",
            "update spans set name = 'x'",
            "alter table spans add column x int",
            "truncate table spans",
            "set datafusion.execution.batch_size = 1",
            "reset datafusion.execution.batch_size",
            "begin",
            "prepare p as select 1",
            "execute p",
            "explain insert into spans values (1)",
            "explain analyze copy spans to 'x.csv'",
            "select 1; drop table spans",
        ] {
            let answer = statements(text);
            assert!(
                matches!(answer, Err(SqlError::NotAllowed(_) | SqlError::Query(_))),
                "{text}: {answer:?}"
            );
        }
    }

    #[test]
    fn a_semicolon_ends_a_statement_but_not_in_quotes() {
        assert!(is_ended("select 1;"));
        assert!(is_ended("select ';' ;  \n"));
        assert!(is_ended("select 1; -- that is all"));
        assert!(!is_ended("select 1"));
        assert!(!is_ended("select ';"));
        assert!(!is_ended("select \"a;"));
        assert!(!is_ended("select 1 /* ;"));
        assert!(!is_ended("select 1 -- ;"));
        assert!(!is_ended("select 1; select 2"));
    }
}

//! What do statements of SQL do, and which names are in them? Every name that could be a table counts as one, so that
//! no way of writing a query hides what it reaches. Pure.

use super::Target;
use sqlparser::ast::{SetExpr, Statement};
use sqlparser::dialect::GenericDialect;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, Tokenizer};

/// Longest text that is read, in bytes.
const LONGEST: usize = 200_000;
/// How deeply queries may be nested.
const DEPTH: usize = 40;

/// Reads the statements of a text.
pub(super) fn read(text: &str) -> Vec<Target> {
    let unreadable = |why: String| vec![Target::Unreadable(format!("SQL that cannot be read: {why}"))];
    if text.len() > LONGEST {
        return unreadable(format!("it has more than {LONGEST} bytes"));
    }
    let dialect = GenericDialect {};
    let tokens = match Tokenizer::new(&dialect, text).tokenize() {
        Ok(tokens) => tokens,
        Err(error) => return unreadable(error.to_string()),
    };
    // What one database reads as a remark, another one runs.
    if text.contains("/*") || tokens.iter().any(is_remark) {
        return unreadable("it has a remark, which databases read differently".into());
    }
    let names = names(&tokens);
    let parsed = Parser::new(&dialect).with_recursion_limit(DEPTH).with_tokens(tokens).parse_statements();
    let statements = match parsed {
        Ok(statements) if !statements.is_empty() => statements,
        Ok(_) => return unreadable("there is no statement in it".into()),
        Err(error) => return unreadable(error.to_string()),
    };
    let several = statements.len() > 1;
    let target = |statement: &Statement| {
        let verb = verb(statement);
        let reads = !several && reads(statement);
        Target::Statement { text: statement.to_string(), verb, names: names.clone(), reads }
    };
    statements.iter().map(target).collect()
}

fn is_remark(token: &Token) -> bool {
    use sqlparser::tokenizer::Whitespace;
    let Token::Whitespace(space) = token else { return false };
    matches!(space, Whitespace::SingleLineComment { .. } | Whitespace::MultiLineComment(_))
}

/// Every word that is a name, alone and with those that it is joined to by dots.
fn names(tokens: &[Token]) -> Vec<String> {
    let mut names = Vec::new();
    let mut joined = String::new();
    for token in tokens {
        match token {
            Token::Word(word) => {
                let name = word.value.to_lowercase();
                if joined.ends_with('.') {
                    joined.push_str(&name);
                    names.push(joined.clone());
                } else {
                    joined.clone_from(&name);
                }
                names.push(name);
            }
            Token::Period if !joined.is_empty() => joined.push('.'),
            _ => joined.clear(),
        }
    }
    names.sort();
    names.dedup();
    names
}

/// The first word of a statement, as a policy would name it.
fn verb(statement: &Statement) -> String {
    let text = statement.to_string();
    let word = text.split(|c: char| !c.is_ascii_alphabetic()).find(|word| !word.is_empty()).unwrap_or_default();
    match statement {
        Statement::Query(_) => "select".into(),
        _ => word.to_lowercase(),
    }
}

/// Whether a statement does nothing but look.
fn reads(statement: &Statement) -> bool {
    match statement {
        Statement::Query(query) => query_reads(query, DEPTH),
        Statement::Explain { analyze, statement, .. } => !analyze || reads(statement),
        Statement::ShowTables { .. } | Statement::ShowColumns { .. } | Statement::ShowVariable { .. } => true,
        _ => false,
    }
}

fn query_reads(query: &sqlparser::ast::Query, depth: usize) -> bool {
    let with = query.with.iter().flat_map(|with| &with.cte_tables);
    depth > 0
        && query.locks.is_empty()
        && with.map(|table| &table.query).all(|query| query_reads(query, depth - 1))
        && body_reads(&query.body, depth - 1)
}

fn body_reads(body: &SetExpr, depth: usize) -> bool {
    match body {
        SetExpr::Select(select) => select.into.is_none(),
        SetExpr::Query(query) => query_reads(query, depth),
        SetExpr::SetOperation { left, right, .. } => {
            depth > 0 && body_reads(left, depth - 1) && body_reads(right, depth - 1)
        }
        SetExpr::Values(_) | SetExpr::Table(_) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statement(text: &str) -> (String, Vec<String>, bool) {
        match read(text).as_slice() {
            [Target::Statement { verb, names, reads, .. }] => (verb.clone(), names.clone(), *reads),
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn a_statement_is_told_by_what_it_does_and_names() {
        let check = |text: &str, wanted: &str, reads: bool| {
            let (verb, _, found) = statement(text);
            assert_eq!((verb.as_str(), found), (wanted, reads), "{text}");
        };
        check("SELECT 1", "select", true);
        check("select * from a join b on a.x = b.x where y = ?", "select", true);
        check("SELECT * INTO copies FROM a", "select", false);
        check("SELECT * FROM a FOR UPDATE", "select", false);
        check("WITH gone AS (DELETE FROM a RETURNING *) SELECT * FROM gone", "select", false);
        check("INSERT INTO a VALUES (1)", "insert", false);
        check("UPDATE a SET b = 1", "update", false);
        check("DELETE FROM a", "delete", false);
        check("DROP TABLE a", "drop", false);
        check("drop   table if exists a", "drop", false);
        check("TRUNCATE TABLE a", "truncate", false);
        check("ALTER TABLE a ADD COLUMN b INT", "alter", false);
        check("GRANT ALL ON a TO b", "grant", false);
    }

    #[test]
    fn every_way_to_name_a_table_is_seen() {
        for text in [
            "SELECT * FROM user_profiles",
            "SELECT * FROM \"User_Profiles\"",
            "SELECT * FROM public.user_profiles",
            "SELECT * FROM orders, user_profiles",
            "SELECT * FROM a WHERE x IN (SELECT id FROM user_profiles)",
            "WITH t AS (SELECT * FROM user_profiles) SELECT * FROM t",
        ] {
            assert!(statement(text).1.contains(&"user_profiles".to_owned()), "{text}: {:?}", statement(text).1);
        }
        assert!(statement("SELECT * FROM public.user_profiles").1.contains(&"public.user_profiles".to_owned()));
    }

    #[test]
    fn what_databases_read_differently_is_unreadable() {
        for text in [
            "",
            "SELEC 1 FROM FROM",
            "SELECT 'a",
            "SELECT 1 /*! ; DROP TABLE a */",
            "SELECT ; )",
            "SELECT 1 -- x",
            &format!("SELECT {}1{}", "(".repeat(5000), ")".repeat(5000)),
        ] {
            assert!(matches!(read(text).as_slice(), [Target::Unreadable(_)]), "{text:.60}");
        }
    }

    #[test]
    fn several_statements_are_each_seen_and_none_only_reads() {
        let found = read("SELECT 1; DROP TABLE a");
        assert_eq!(found.len(), 2);
        assert!(found.iter().all(|target| matches!(target, Target::Statement { reads: false, .. })));
    }
}

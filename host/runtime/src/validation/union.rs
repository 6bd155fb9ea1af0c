//! Which branch of a union was meant? Its problems are told, those of the others only confuse. Pure.

use super::problems::{self, Whole};
use super::reveal;
use crate::error::Problem;
use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind};

/// The problems of the branch that was meant, or of the choice where none was.
pub(super) fn problems(
    branches: &[Vec<ValidationError<'static>>],
    error: &ValidationError<'_>,
    whole: Whole<'_>,
) -> Vec<Problem> {
    let path = error.instance_path().to_string();
    let wrong = |branch: &Vec<ValidationError<'static>>| distance(branch, &path);
    let mut ranked: Vec<(Distance, usize)> =
        branches.iter().enumerate().map(|(index, branch)| (wrong(branch), index)).collect();
    ranked.sort();
    match ranked.as_slice() {
        [(best, index), ..] if !best.is_other_kind => {
            let mut found: Vec<Problem> =
                branches[*index].iter().flat_map(|error| problems::of(error, whole)).collect();
            // Where another branch is as near, one of several ways is shown.
            if ranked.get(1).is_some_and(|(next, _)| next == best) {
                let count = branches.len();
                found
                    .iter_mut()
                    .for_each(|problem| add(problem, &format!("this is one of {count} forms that would do")));
            }
            found
        }
        _ => vec![choice(branches, error, &path, whole)],
    }
}

fn add(problem: &mut Problem, what: &str) {
    let hint = problem.hint.take();
    problem.hint = Some(hint.map_or_else(|| what.to_owned(), |hint| format!("{hint}; {what}")));
}

/// How far a value is from a branch; the least is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Distance {
    /// The value is of another kind altogether.
    is_other_kind: bool,
    /// Words of a fixed choice that differ; they say which branch it is.
    other_choices: usize,
    /// Keys that the branch does not know.
    unknown: usize,
    /// All that is wrong.
    problems: usize,
}

fn distance(branch: &[ValidationError<'static>], path: &str) -> Distance {
    let count = |is: &dyn Fn(&ValidationError<'static>) -> usize| branch.iter().map(is).sum();
    let is_here = |error: &ValidationError<'static>| error.instance_path().to_string() == path;
    Distance {
        is_other_kind: branch.iter().any(|error| match error.kind() {
            ValidationErrorKind::Type { .. } | ValidationErrorKind::FalseSchema => is_here(error),
            ValidationErrorKind::Constant { .. } => is_here(error) && !error.instance().is_string(),
            _ => false,
        }),
        other_choices: count(&|error| {
            usize::from(matches!(error.kind(), ValidationErrorKind::Constant { .. } | ValidationErrorKind::Enum { .. }))
        }),
        unknown: count(&|error| match error.kind() {
            ValidationErrorKind::AdditionalProperties { unexpected } => unexpected.len(),
            _ => 0,
        }),
        problems: branch.len(),
    }
}

/// No branch was meant: what there is to choose from.
fn choice(
    branches: &[Vec<ValidationError<'static>>],
    error: &ValidationError<'_>,
    path: &str,
    whole: Whole<'_>,
) -> Problem {
    let mut kinds = Vec::new();
    for error in branches.iter().flatten().filter(|error| error.instance_path().to_string() == path) {
        let kind = match error.kind() {
            ValidationErrorKind::Type { kind: TypeKind::Single(type_) } => type_.to_string(),
            ValidationErrorKind::Type { kind: TypeKind::Multiple(types) } => {
                types.iter().map(|type_| type_.to_string()).collect::<Vec<_>>().join(" or ")
            }
            ValidationErrorKind::Constant { expected_value } => expected_value.to_string(),
            _ => continue,
        };
        if !kinds.contains(&kind) && kinds.len() < 10 {
            kinds.push(kind);
        }
    }
    let expected = match kinds.is_empty() {
        true => "one of the forms of the schema".to_owned(),
        false => kinds.join(" or "),
    };
    Problem {
        path: path.to_owned(),
        rule: "type".into(),
        hint: Some(problems::type_hint(&expected, error.instance())),
        expected: crate::document::excerpt(&expected, 200),
        received: reveal::value(error.instance(), problems::is_secret(path, whole)),
    }
}

//! How are JSON values found, compared and added up? Exact where JSON is: integers stay integers. Pure.

use serde_json::{Number, Value};
use std::cmp::Ordering;

/// What a path leads to in a value: a JSON Pointer if it begins with `/`, else keys and indices between dots.
pub(crate) fn find<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    if path.is_empty() || path.starts_with('/') {
        return value.pointer(path);
    }
    // A key may have dots itself, so the whole path is tried first.
    value.get(path).or_else(|| path.split('.').try_fold(value, step))
}

fn step<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    match value {
        Value::Array(items) => items.get(key.parse::<usize>().ok()?),
        Value::Object(members) => members.get(key),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// One order over all values, so that sorting is always possible: null, booleans, numbers, texts, lists, objects.
pub(crate) fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => compare_numbers(a, b),
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Array(a), Value::Array(b)) => {
            let unequal = a.iter().zip(b).map(|(a, b)| compare(a, b)).find(|order| order.is_ne());
            unequal.unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        (Value::Object(_), Value::Object(_)) => a.to_string().cmp(&b.to_string()),
        _ => rank(a).cmp(&rank(b)),
    }
}

/// Whether two values are the same; `1` and `1.0` are.
pub(crate) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => compare_numbers(a, b).is_eq(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        _ => a == b,
    }
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Number(_) => 2,
        Value::String(_) => 3,
        Value::Array(_) => 4,
        Value::Object(_) => 5,
    }
}

fn integer(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}

fn compare_numbers(a: &Number, b: &Number) -> Ordering {
    match (integer(a), integer(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        (Some(a), None) => compare_mixed(a, float(b)),
        (None, Some(b)) => compare_mixed(b, float(a)).reverse(),
        (None, None) => float(a).total_cmp(&float(b)),
    }
}

/// An integer with a float, without making the integer a float, which would lose digits.
fn compare_mixed(integer: i128, float: f64) -> Ordering {
    // Floats of this size are whole, and every 64-bit integer is smaller.
    if float.abs() >= 1e30 {
        return if float > 0.0 { Ordering::Less } else { Ordering::Greater };
    }
    let whole = float.trunc();
    integer.cmp(&(whole as i128)).then_with(|| 0.0_f64.total_cmp(&(float - whole + 0.0)))
}

fn float(number: &Number) -> f64 {
    number.as_f64().unwrap_or(f64::NAN)
}

/// A sum: exact as long as only integers come.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sum {
    whole: i128,
    broken: f64,
    lost: f64,
    is_broken: bool,
    pub(crate) count: u64,
}

impl Sum {
    /// Adds a number. `None` if it is none.
    pub(crate) fn add(&mut self, value: &Value) -> Option<()> {
        let Value::Number(number) = value else { return None };
        self.count += 1;
        match integer(number) {
            // 2^64 numbers of 64 bits fit.
            Some(integer) => self.whole += integer,
            None => self.add_float(float(number)),
        }
        Some(())
    }

    /// Neumaier's way: what rounding takes away is kept beside.
    fn add_float(&mut self, next: f64) {
        self.is_broken = true;
        let sum = self.broken + next;
        self.lost +=
            if self.broken.abs() >= next.abs() { (self.broken - sum) + next } else { (next - sum) + self.broken };
        self.broken = sum;
    }

    /// The sum, or `None` if JSON's numbers cannot hold it.
    pub(crate) fn total(&self) -> Option<Value> {
        match self.is_broken {
            true => Number::from_f64(self.as_float()).map(Value::Number),
            false => Number::from_i128(self.whole).map(Value::Number),
        }
    }

    /// The mean, or `None` if there is none.
    pub(crate) fn mean(&self) -> Option<Value> {
        let count = i128::from(self.count);
        if !self.is_broken && count > 0 && self.whole % count == 0 {
            return Number::from_i128(self.whole / count).map(Value::Number);
        }
        Number::from_f64(self.as_float() / self.count as f64).map(Value::Number)
    }

    fn as_float(&self) -> f64 {
        self.whole as f64 + (self.broken + self.lost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn paths_are_pointers_or_dotted() {
        let value = json!({ "a": { "b": [1, { "c": 2 }] }, "x.y": 3, "p/q": 4 });
        for (path, expect) in [("/a/b/1/c", 2), ("a.b.1.c", 2), ("x.y", 3), ("/p~1q", 4)] {
            assert_eq!(find(&value, path), Some(&json!(expect)), "{path}");
        }
        for path in ["a.z", "/a/z", "a.b.9", "a.b.x", "x"] {
            assert_eq!(find(&value, path), None, "{path}");
        }
    }

    #[test]
    fn numbers_compare_without_losing_digits() {
        let check = |a: Value, b: Value, order: Ordering| {
            assert_eq!(compare(&a, &b), order, "{a} {b}");
            assert_eq!(compare(&b, &a), order.reverse(), "{b} {a}");
        };
        check(json!(9_007_199_254_740_993_i64), json!(9_007_199_254_740_992.0), Ordering::Greater);
        check(json!(u64::MAX), json!(i64::MAX), Ordering::Greater);
        check(json!(1), json!(1.0), Ordering::Equal);
        check(json!(-1), json!(-1.5), Ordering::Greater);
        check(json!(2), json!(2.5), Ordering::Less);
        check(json!(null), json!(0), Ordering::Less);
        check(json!(1e300), json!(5), Ordering::Greater);
    }

    #[test]
    fn sums_of_integers_are_exact() {
        let sum = |values: &[Value]| {
            let mut sum = Sum::default();
            values.iter().try_for_each(|value| sum.add(value)).and_then(|()| sum.total())
        };
        assert_eq!(sum(&[json!(9_007_199_254_740_993_i64), json!(2)]), Some(json!(9_007_199_254_740_995_i64)));
        assert_eq!(sum(&[json!(u64::MAX), json!(1)]), None);
        assert_eq!(
            sum(&[json!(0.1), json!(0.2), json!(-0.3)]).and_then(|sum| sum.as_f64()).map(|sum| sum.abs() < 1e-16),
            Some(true)
        );
        assert_eq!(sum(&[json!("1")]), None);
    }
}

//! Which number do some digits stand for, and is it quite that one? Pure.

use serde_json::Number;

/// What a literal comes to.
#[derive(Debug, PartialEq)]
pub(super) enum Read {
    /// The number that was written.
    Exact(Number),
    /// The nearest double to an integer beyond 64 bits or to more digits than a double has.
    Near(Number),
    /// Beyond every double.
    TooLarge,
}

/// The beginning of a text that could be a number.
pub(super) fn literal(text: &str) -> &str {
    let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
    &text[..text.as_bytes().iter().take_while(|byte| is_part(byte)).count()]
}

/// Reads a literal; `None` if it is not one of RFC 8259.
pub(super) fn read(literal: &str) -> Option<Read> {
    let decimal = Decimal::parse(literal)?;
    if decimal.is_integer_literal {
        // Minus zero is zero: the canonical form has one zero.
        if let Ok(unsigned) = literal.parse::<u64>() {
            return Some(Read::Exact(unsigned.into()));
        }
        if let Ok(signed) = literal.parse::<i64>() {
            return Some(Read::Exact(signed.into()));
        }
    }
    let double: f64 = literal.parse().ok()?;
    let Some(number) = Number::from_f64(double) else { return Some(Read::TooLarge) };
    let is_exact = !decimal.is_integer_literal && (decimal.fits_any_double(double) || decimal.is(&number));
    Some(if is_exact { Read::Exact(number) } else { Read::Near(number) })
}

/// Digits without zeros at either end, and the power of ten that they are multiplied with.
struct Decimal {
    digits: String,
    exponent: i64,
    is_integer_literal: bool,
}

impl Decimal {
    fn parse(literal: &str) -> Option<Decimal> {
        let unsigned = literal.strip_prefix('-').unwrap_or(literal);
        let (mantissa, power) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, power)) => (mantissa, Some(power)),
            None => (unsigned, None),
        };
        let (whole, fraction) = match mantissa.split_once('.') {
            Some((whole, fraction)) => (whole, Some(fraction)),
            None => (mantissa, None),
        };
        let all_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let right = all_digits(whole)
            && (whole == "0" || !whole.starts_with('0'))
            && fraction.is_none_or(all_digits)
            && power.is_none_or(|power| all_digits(power.strip_prefix(['+', '-']).unwrap_or(power)));
        if !right {
            return None;
        }
        let fraction_digits = fraction.unwrap_or_default();
        let digits = format!("{whole}{fraction_digits}");
        let kept = digits.trim_end_matches('0');
        let dropped = (digits.len() - kept.len()) as i64;
        // A power that is no `i64` makes the number zero or infinite, which the double shows.
        let power = power.map_or(0, |power| power.parse::<i64>().unwrap_or(i64::MAX / 4));
        let exponent = power.saturating_sub(fraction_digits.len() as i64).saturating_add(dropped);
        let digits = kept.trim_start_matches('0').to_owned();
        Some(Decimal { digits, exponent, is_integer_literal: fraction.is_none() && literal_has_no_power(literal) })
    }

    /// Fifteen digits come back from every double that is neither huge nor tiny, which spares writing it.
    fn fits_any_double(&self, double: f64) -> bool {
        self.digits.is_empty() || (self.digits.len() <= 15 && (1e-290..1e290).contains(&double.abs()))
    }

    /// Whether a double, written as we write it, is this number. Some have two forms with as few digits as they need.
    fn is(&self, double: &Number) -> bool {
        Decimal::parse(&double.to_string()).is_some_and(|other| {
            other.digits == self.digits && (other.exponent == self.exponent || self.digits.is_empty())
        })
    }
}

fn literal_has_no_power(literal: &str) -> bool {
    !literal.contains(['e', 'E'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(literal: &str, expect: Option<(bool, &str)>) {
        let read = read(literal).map(|read| match read {
            Read::Exact(number) => (true, number.to_string()),
            Read::Near(number) => (false, number.to_string()),
            Read::TooLarge => (false, "too large".to_owned()),
        });
        assert_eq!(read, expect.map(|(exact, number)| (exact, number.to_owned())), "{literal}");
    }

    #[test]
    fn a_number_is_what_was_written_or_said_to_be_near_it() {
        check("0", Some((true, "0")));
        check("-0", Some((true, "0")));
        check("18446744073709551615", Some((true, "18446744073709551615")));
        check("-9223372036854775808", Some((true, "-9223372036854775808")));
        check("18446744073709551616", Some((false, "1.8446744073709552e+19")));
        check("-9223372036854775809", Some((false, "-9.223372036854776e+18")));
        check("0.1", Some((true, "0.1")));
        check("0.10", Some((true, "0.1")));
        check("1e2", Some((true, "100.0")));
        check("1E-7", Some((true, "1e-7")));
        check("1.7976931348623157e308", Some((true, "1.7976931348623157e+308")));
        check("0.30000000000000004", Some((true, "0.30000000000000004")));
        check("0.300000000000000044", Some((false, "0.30000000000000004")));
        check("9007199254740993.0", Some((false, "9007199254740992.0")));
        check("3.141592653589793238", Some((false, "3.141592653589793")));
        check("1e-400", Some((false, "0.0")));
        check("0e-400", Some((true, "0.0")));
        check("4.9e-324", Some((false, "5e-324")));
        check("5e-324", Some((true, "5e-324")));
        check("1082509335640511.2", Some((true, "1082509335640511.2")));
        check("1e400", Some((false, "too large")));
        check("1e99999999999999999999", Some((false, "too large")));
        for wrong in ["", "-", "01", "1.", ".5", "1e", "1e+", "+1", "0x7", "1.2.3", "--1", "1-1"] {
            check(wrong, None);
        }
    }

    proptest! {
        /// Every double, written by anybody, is read as itself.
        #[test]
        fn what_a_double_is_written_as_is_exact(bits in any::<u64>()) {
            let double = f64::from_bits(bits);
            prop_assume!(double.is_finite());
            let literal = serde_json::to_string(&double).unwrap();
            prop_assert_eq!(read(&literal), Some(Read::Exact(Number::from_f64(double).unwrap())), "{}", literal);
        }

        #[test]
        fn every_integer_of_64_bits_is_exact(number in any::<i64>()) {
            prop_assert_eq!(read(&number.to_string()), Some(Read::Exact(number.into())));
        }

        /// What `serde_json` takes is taken here, and the other way round.
        #[test]
        fn literals_are_those_of_everybody(text in "[-+0-9.eE]{0,8}") {
            prop_assert_eq!(
                matches!(read(&text), Some(Read::Exact(_) | Read::Near(_))),
                serde_json::from_str::<f64>(&text).is_ok(),
                "{}", text
            );
        }
    }
}

//! Which commands only read? Forms that a manifest lists, each one command with the options that it may have. Pure.
//!
//! A form is the command's first words, then in brackets the options that it may have; without brackets it may have
//! any. `-n` allows `-n` and `-n5`, `-S=` also `-Stext`, `-#` a number such as `-5`, `--format` also `--format=…`; letters
//! after one dash are taken one by one. `only` at the end allows no argument that is no option.

/// Commands that only read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Forms(Vec<Form>);

/// One word of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Argument<'a> {
    /// Its text without quotes.
    pub text: &'a str,
    /// Whether the shell changes it before the command sees it.
    pub expands: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Form {
    words: Vec<String>,
    options: Option<Vec<String>>,
    only: bool,
}

impl Forms {
    /// Reads the forms of a manifest.
    ///
    /// # Errors
    /// The first form that is none, with what is wrong.
    pub fn parse(texts: &[String]) -> Result<Forms, String> {
        texts.iter().map(|text| Form::parse(text)).collect::<Result<_, _>>().map(Forms)
    }

    /// Whether a command is of one of the forms.
    pub fn allow(&self, words: &[Argument<'_>]) -> bool {
        self.0.iter().any(|form| form.fits(words))
    }
}

impl Form {
    fn parse(text: &str) -> Result<Form, String> {
        let wrong = |why: &str| Err(format!("the form `{}` {why}", crate::document::excerpt(text, 80)));
        let (before, options, after) = match text.split_once(" [") {
            None => (text, None, ""),
            Some((before, rest)) => match rest.split_once(']') {
                None => return wrong("has no closing bracket"),
                Some((options, after)) => (before, Some(options), after),
            },
        };
        let owned = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let words = owned(before);
        if words.is_empty() {
            return wrong("names no command");
        }
        let options = options.map(owned);
        if options.iter().flatten().any(|option| !option.starts_with('-')) {
            return wrong("lists an option without a dash");
        }
        match after.trim() {
            "" => Ok(Form { words, options, only: false }),
            "only" => Ok(Form { words, options, only: true }),
            _ => wrong("has more than `only` after its options"),
        }
    }

    fn fits(&self, words: &[Argument<'_>]) -> bool {
        let Some((first, rest)) = words.split_at_checked(self.words.len()) else { return false };
        let same = first.iter().zip(&self.words).all(|(word, wanted)| !word.expands && word.text == *wanted);
        same && self.allows(rest)
    }

    fn allows(&self, arguments: &[Argument<'_>]) -> bool {
        let Some(options) = &self.options else { return !self.only || arguments.is_empty() };
        let mut arguments = arguments.iter();
        let mut operands = 0;
        while let Some(word) = arguments.next() {
            if !word.expands && word.text == "--" {
                operands += arguments.by_ref().count();
            } else if can_be_option(word) {
                if word.expands
                    || !options.iter().any(|option| is_option(word.text, option)) && !is_cluster(word.text, options)
                {
                    return false;
                }
            } else {
                operands += 1;
            }
        }
        !self.only || operands == 0
    }
}

/// Whether a word is an option, or may turn out to be one: a pattern can fit a file whose name begins with a dash.
fn can_be_option(word: &Argument<'_>) -> bool {
    let begins = word.text.chars().next();
    match word.expands {
        true => begins.is_none_or(|first| !(first.is_alphanumeric() || first == '/' || first == '.' || first == '_')),
        false => begins == Some('-') && word.text.len() > 1,
    }
}

fn is_option(text: &str, option: &str) -> bool {
    if let Some(short) = option.strip_suffix('=') {
        return text.starts_with(short);
    }
    let Some(rest) = text.strip_prefix(option) else {
        return option == "-#" && text[1..].bytes().all(|byte| byte.is_ascii_digit());
    };
    let is_long = option.starts_with("--") || option.len() > 2;
    rest.is_empty()
        || (is_long && rest.starts_with('='))
        || (!is_long && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Several letters after one dash, each an option of its own.
fn is_cluster(text: &str, options: &[String]) -> bool {
    let letters = text.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
    letters.is_some_and(|letters| {
        letters
            .chars()
            .all(|letter| letter.is_ascii_alphabetic() && options.iter().any(|option| *option == format!("-{letter}")))
    })
}

#[cfg(test)]
#[path = "forms_tests.rs"]
mod tests;

//! What is one word, once the shell has taken its quotes away, and does it stay what it is? Commands inside of words
//! are listed like all others. Pure.

use super::{DEPTH, Reader, Word, read_text};

impl Reader<'_> {
    /// One word, with its quotes taken away.
    pub(super) fn word(&mut self) -> Result<Word, String> {
        let start = self.at;
        let mut word = Word { text: String::new(), expands: false };
        while let Some(next) = self.peek() {
            match next {
                ' ' | '\t' | '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')' => break,
                '\'' => self.single_quoted(&mut word)?,
                '"' => self.double_quoted(&mut word)?,
                '\\' => self.escaped(&mut word),
                '`' => self.old_substitution(&mut word)?,
                '$' => self.dollar(&mut word, false)?,
                _ => {
                    self.at += next.len_utf8();
                    let is_pattern = matches!(next, '*' | '?' | '[');
                    // Braces stand for several words in some shells; a tilde for a home.
                    let is_braces = next == '{' && self.at - start == 1 && self.rest().starts_with('}');
                    word.expands |= is_pattern || (next == '{' && !is_braces) || (next == '~' && self.at - start == 1);
                    word.text.push(next);
                }
            }
        }
        match self.at > start {
            true => Ok(word),
            false => Err(format!("`{}` stands where a word should", self.shown())),
        }
    }

    fn single_quoted(&mut self, word: &mut Word) -> Result<(), String> {
        self.at += 1;
        let end = self.rest().find('\'').ok_or("a quote has no end")?;
        word.text.push_str(&self.text[self.at..self.at + end]);
        self.at += end + 1;
        Ok(())
    }

    fn double_quoted(&mut self, word: &mut Word) -> Result<(), String> {
        self.at += 1;
        loop {
            match self.peek().ok_or("a quote has no end")? {
                '"' => {
                    self.at += 1;
                    return Ok(());
                }
                '`' => self.old_substitution(word)?,
                '$' => self.dollar(word, true)?,
                '\\' => {
                    self.at += 1;
                    match self.next().ok_or("a quote has no end")? {
                        '\n' => {}
                        special @ ('$' | '`' | '"' | '\\') => word.text.push(special),
                        other => word.text.extend(['\\', other]),
                    }
                }
                other => {
                    self.at += other.len_utf8();
                    word.text.push(other);
                }
            }
        }
    }

    fn escaped(&mut self, word: &mut Word) {
        self.at += 1;
        match self.next() {
            Some('\n') => {}
            Some(other) => word.text.push(other),
            None => word.text.push('\\'),
        }
    }

    fn old_substitution(&mut self, word: &mut Word) -> Result<(), String> {
        self.at += 1;
        let end = self.rest().find('`').ok_or("a backquote has no end")?;
        let inner = self.text[self.at..self.at + end].to_owned();
        if inner.contains('\\') {
            return Err("a backquote with a backslash in it is not read".into());
        }
        self.at += end + 1;
        self.inner(&inner, word)
    }

    /// What a dollar sign begins: a variable, or commands whose output takes its place.
    fn dollar(&mut self, word: &mut Word, quoted: bool) -> Result<(), String> {
        let start = self.at;
        self.at += 1;
        if self.rest().starts_with("((") {
            return Err("arithmetic is not read".into());
        }
        if self.eat("(") {
            return self.substitution(word);
        }
        match self.peek() {
            Some('\'' | '"') if !quoted => Err("`$` before a quote is read differently by different shells".into()),
            Some('{' | '[') => Err("variables with operators are not read".into()),
            Some(next) if next.is_ascii_alphanumeric() || "_@*#?$!-".contains(next) => {
                self.at += 1;
                if next.is_ascii_alphabetic() || next == '_' {
                    let more =
                        self.rest().bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
                    self.at += more;
                }
                word.text.push_str(&self.text[start..self.at]);
                word.expands = true;
                Ok(())
            }
            _ => {
                word.text.push('$');
                Ok(())
            }
        }
    }

    fn substitution(&mut self, word: &mut Word) -> Result<(), String> {
        let start = self.at;
        let mut inner = Reader {
            text: self.text,
            at: self.at,
            depth: self.depth + 1,
            documents: Vec::new(),
            found: &mut *self.found,
        };
        if inner.depth > DEPTH {
            return Err("it is nested too deeply".into());
        }
        inner.list(Some(')'))?;
        let end = inner.at;
        if !self.text[end..].starts_with(')') {
            return Err("`)` is missing".into());
        }
        self.at = end + 1;
        word.text.push_str(&format!("$({})", &self.text[start..end]));
        word.expands = true;
        Ok(())
    }

    fn inner(&mut self, text: &str, word: &mut Word) -> Result<(), String> {
        read_text(text, self.depth + 1, self.found)?;
        word.text.push_str(&format!("$({text})"));
        word.expands = true;
        Ok(())
    }
}

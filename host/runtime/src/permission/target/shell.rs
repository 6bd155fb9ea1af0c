//! Which commands does a text for the shell run? Reads the part of the language that every shell of the family reads
//! alike, and lists every simple command and redirection after quotes are taken away. A text that uses more than that
//! part, or that different shells read differently, is refused, and counts as the highest risk. Pure.

mod redirect;
mod word;

/// Longest text that is read. Longer ones are judged unread.
const LONGEST: usize = 100_000;
/// Most commands of one text.
const COMMANDS: usize = 2_000;
/// Deepest nesting of groups and of shells within shells.
pub(super) const DEPTH: usize = 16;
/// Words that begin what is not read.
const REFUSED: &[&str] = &["case", "esac", "in", "function", "select", "coproc", "[[", "]]", "{", "}"];
/// Words after which a command follows. Whether they stand in the right order is the shell's business: every command
/// between them is listed, also of a text that the shell will refuse half-way.
const BEFORE: &[&str] = &["!", "if", "then", "elif", "else", "while", "until", "do"];
/// Words that end a group.
const AFTER: &[&str] = &["fi", "done"];

/// One word of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    /// The text without its quotes.
    pub(super) text: String,
    /// Whether the shell changes it before the command sees it: a variable, a command's output, a name's pattern.
    pub(super) expands: bool,
}

/// One simple command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Simple {
    /// Variables that are set for it, or for good if there is no command.
    pub(super) assignments: Vec<(String, Word)>,
    /// The command and its arguments.
    pub(super) words: Vec<Word>,
    /// Files that it writes; names of descriptors and what is thrown away are left out.
    pub(super) writes: Vec<Word>,
    /// Files that it reads.
    pub(super) reads: Vec<Word>,
}

/// Lists the simple commands of a text, those inside of others too.
///
/// # Errors
/// What cannot be read, in a few words.
pub(super) fn commands(text: &str) -> Result<Vec<Simple>, String> {
    let mut found = Vec::new();
    read_text(text, 0, &mut found)?;
    Ok(found)
}

fn read_text(text: &str, depth: usize, found: &mut Vec<Simple>) -> Result<(), String> {
    if text.len() > LONGEST {
        return Err(format!("it has more than {LONGEST} bytes"));
    }
    if depth > DEPTH {
        return Err("it is nested too deeply".into());
    }
    // A line that overwrites itself on a terminal, and names that look like others, deceive a reader.
    if let Some(bad) = text.chars().find(|c| crate::document::is_deceptive(*c) && *c != '\n' && *c != '\t') {
        return Err(format!("it has the character {bad:?}"));
    }
    let mut reader = Reader { text, at: 0, depth, documents: Vec::new(), found };
    reader.list(None)?;
    match reader.rest().is_empty() {
        true => Ok(()),
        false => Err(format!("`{}` stands where no command can", reader.shown())),
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    /// Ends of here-documents whose text comes after this line, and whether it is taken as it is.
    documents: Vec<(String, bool, bool)>,
    found: &'a mut Vec<Simple>,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn eat(&mut self, token: &str) -> bool {
        let eats = self.rest().starts_with(token);
        if eats {
            self.at += token.len();
        }
        eats
    }

    fn shown(&self) -> String {
        crate::document::excerpt(self.rest(), 20)
    }

    fn blanks(&mut self) {
        loop {
            if self.eat("\\\n") || self.eat(" ") || self.eat("\t") {
                continue;
            }
            // The beginning of a word is the only place where this begins a remark.
            if self.peek() == Some('#') {
                let end = self.rest().find('\n').unwrap_or(self.rest().len());
                self.at += end;
            }
            return;
        }
    }

    /// Commands up to the end, or up to a closing mark.
    fn list(&mut self, close: Option<char>) -> Result<(), String> {
        loop {
            self.blanks();
            match self.peek() {
                None => return self.no_open_document(),
                Some('\n') => self.line_end()?,
                Some(mark) if Some(mark) == close => return self.no_open_document(),
                Some(_) => {
                    self.command()?;
                    self.separator(close)?;
                }
            }
        }
    }

    fn no_open_document(&self) -> Result<(), String> {
        if self.documents.is_empty() { Ok(()) } else { Err("a here-document has no end".into()) }
    }

    fn separator(&mut self, close: Option<char>) -> Result<(), String> {
        self.blanks();
        for token in ["&&", "||", ";;", "|&", "&>", ";", "|", "&"] {
            if !self.eat(token) {
                continue;
            }
            return match token {
                "&&" | "||" | "|" => self.command_has_to_follow(),
                // Shells differ in what these mean.
                ";;" | "|&" | "&>" => Err(format!("`{token}` is read differently by different shells")),
                _ => Ok(()),
            };
        }
        match self.peek() {
            None => Ok(()),
            Some('\n') => self.line_end(),
            Some(mark) if Some(mark) == close => Ok(()),
            Some(_) => Err(format!("`{}` stands where no command can", self.shown())),
        }
    }

    fn command_has_to_follow(&mut self) -> Result<(), String> {
        loop {
            self.blanks();
            match self.peek() {
                Some('\n') => self.line_end()?,
                None | Some(';' | '&' | '|' | ')' | '}') => {
                    return Err("a command is missing after `&&`, `||` or `|`".into());
                }
                Some(_) => return Ok(()),
            }
        }
    }

    /// One command: a group, or a simple one.
    fn command(&mut self) -> Result<(), String> {
        if self.depth >= DEPTH {
            return Err("it is nested too deeply".into());
        }
        if self.eat("((") {
            return Err("`((` is read differently by different shells".into());
        }
        if self.eat("(") {
            return self.group(')');
        }
        if self.rest().starts_with("{ ") || self.rest().starts_with("{\n") {
            self.at += 1;
            return self.group('}');
        }
        // A loop, not a call of itself: a text may have any number of these.
        while BEFORE.contains(&self.first_word()) {
            self.at += self.first_word().len();
            self.blanks();
            match self.peek() {
                None | Some('\n') => return Ok(()),
                Some('(') => return self.command(),
                Some(_) => {}
            }
        }
        let word = self.first_word();
        match word {
            "for" => return self.loop_head(),
            _ if REFUSED.contains(&word) => {
                return Err(format!("`{word}` begins what is more than a list of commands"));
            }
            _ if AFTER.contains(&word) => {
                let length = word.len();
                self.at += length;
                return self.redirections_of_group();
            }
            _ => {}
        }
        self.simple()
    }

    /// What stands before the next character that ends a word, quotes and all.
    fn first_word(&self) -> &str {
        self.rest().split([' ', '\t', '\n', ';', '&', '|', '(', ')', '<', '>']).next().unwrap_or_default()
    }

    /// `for name in words`: the words are no command, and the name is one that the shell will change.
    fn loop_head(&mut self) -> Result<(), String> {
        self.at += "for".len();
        self.blanks();
        let name = self.word()?;
        self.blanks();
        if name.expands || !is_name(&name.text) || is_special(&name.text) || !self.eat("in") {
            return Err("a loop without a plain name and `in` is not read".into());
        }
        loop {
            self.blanks();
            match self.peek() {
                None | Some('\n' | ';') => return Ok(()),
                Some(_) => drop(self.word()?),
            }
        }
    }

    fn group(&mut self, close: char) -> Result<(), String> {
        self.depth += 1;
        self.list(Some(close))?;
        self.depth -= 1;
        if self.next() != Some(close) {
            return Err(format!("`{close}` is missing"));
        }
        self.redirections_of_group()
    }

    fn redirections_of_group(&mut self) -> Result<(), String> {
        let mut around = Simple::default();
        loop {
            self.blanks();
            if !self.redirection(&mut around)? {
                break;
            }
        }
        if !around.writes.is_empty() || !around.reads.is_empty() {
            self.keep(around)?;
        }
        Ok(())
    }

    fn simple(&mut self) -> Result<(), String> {
        let mut simple = Simple::default();
        loop {
            self.blanks();
            if self.redirection(&mut simple)? {
                continue;
            }
            match self.peek() {
                None | Some('\n' | ';' | '&' | '|' | ')') => break,
                Some('(') => return Err("functions and arrays are not read".into()),
                Some(_) => self.word_of(&mut simple)?,
            }
        }
        if simple == Simple::default() {
            return Err(format!("`{}` stands where no command can", self.shown()));
        }
        self.keep(simple)
    }

    fn keep(&mut self, simple: Simple) -> Result<(), String> {
        if self.found.len() >= COMMANDS {
            return Err(format!("it has more than {COMMANDS} commands"));
        }
        self.found.push(simple);
        Ok(())
    }

    fn word_of(&mut self, simple: &mut Simple) -> Result<(), String> {
        let start = self.at;
        let word = self.word()?;
        let raw = &self.text[start..self.at];
        let assigned = raw.split_once('=').filter(|(name, _)| simple.words.is_empty() && is_name(name));
        if let Some((name, _)) = assigned {
            let text = word.text.get(name.len() + 1..).unwrap_or_default().to_owned();
            simple.assignments.push((name.to_owned(), Word { text, expands: word.expands }));
            return Ok(());
        }
        simple.words.push(word);
        Ok(())
    }
}

/// Whether a variable decides over which programs run, or how the shell reads what follows.
pub(super) fn is_special(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "PATH",
        "IFS",
        "ENV",
        "CDPATH",
        "HOME",
        "SHELL",
        "PS4",
        "PROMPT_COMMAND",
        "SHELLOPTS",
        "POSIXLY_CORRECT",
        "EDITOR",
        "VISUAL",
        "PAGER",
        "BROWSER",
        "TMPDIR",
    ];
    const BEGINNINGS: &[&str] = &[
        "LD_", "GIT_", "BASH", "PYTHON", "PERL", "RUBY", "NODE_", "JAVA", "GCONV_", "LESS", "MAN", "SSH_", "FIND_",
        "GREP_", "TAR_", "RIPGREP_", "GLIBC_", "MALLOC_", "NLSPATH",
    ];
    NAMES.contains(&name) || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
}

fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
#[path = "shell/tests.rs"]
mod tests;

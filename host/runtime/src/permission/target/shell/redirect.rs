//! Where does a command read from and write to? Redirections, and the here-documents that follow a line. Pure.

use super::{Reader, Simple};

impl Reader<'_> {
    /// A redirection, if one stands here.
    pub(super) fn redirection(&mut self, simple: &mut Simple) -> Result<bool, String> {
        let digits = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        let after = &self.rest()[digits..];
        if !after.starts_with(['<', '>']) {
            return Ok(false);
        }
        self.at += digits;
        for token in ["<<<", "<>", "<(", ">(", "<<-", "<<", "<&", ">&", ">>", ">|", "<", ">"] {
            if self.eat(token) {
                self.redirect(token, simple)?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn redirect(&mut self, token: &str, simple: &mut Simple) -> Result<(), String> {
        if matches!(token, "<<<" | "<(" | ">(") {
            return Err(format!("`{token}` is read differently by different shells"));
        }
        self.blanks();
        let start = self.at;
        let word = self.word()?;
        let raw = self.text[start..self.at].to_owned();
        match token {
            "<<" | "<<-" => {
                let literal = raw != word.text;
                if word.expands {
                    return Err("the end of a here-document is not fixed".into());
                }
                self.documents.push((word.text, token == "<<-", literal));
            }
            "<&" | ">&" => {
                let is_descriptor = word.text == "-" || word.text.bytes().all(|byte| byte.is_ascii_digit());
                if !is_descriptor || word.expands || word.text.is_empty() {
                    return Err(format!("`{token}` with a file is read differently by different shells"));
                }
            }
            "<" => simple.reads.push(word),
            _ if word.text == "/dev/null" && !word.expands => {}
            _ => simple.writes.push(word),
        }
        Ok(())
    }

    /// The end of a line, with the here-documents that follow it.
    pub(super) fn line_end(&mut self) -> Result<(), String> {
        self.at += 1;
        for (end, strip, literal) in std::mem::take(&mut self.documents) {
            self.document(&end, strip, literal)?;
        }
        Ok(())
    }

    fn document(&mut self, end: &str, strip: bool, literal: bool) -> Result<(), String> {
        let mut body = String::new();
        loop {
            if self.rest().is_empty() {
                return Err("a here-document has no end".into());
            }
            let line = self.rest().split('\n').next().unwrap_or_default().to_owned();
            self.at += line.len() + usize::from(self.rest().len() > line.len());
            let line = if strip { line.trim_start_matches('\t') } else { &line };
            if line == end {
                break;
            }
            body.push_str(line);
            body.push('\n');
        }
        // Only a quoted end keeps the shell from running what stands in the text.
        match !literal && (body.contains('`') || body.contains('$')) {
            true => Err("a here-document has variables or commands in it".into()),
            false => Ok(()),
        }
    }
}

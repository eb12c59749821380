//! The secret of one start of the server.

use std::io;

/// A random token: whoever has it may read the runs.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// 128 random bits as hex digits.
    pub fn new() -> io::Result<Token> {
        let mut bytes = [0_u8; 16];
        getrandom::fill(&mut bytes)
            .map_err(|error| io::Error::other(format!("no random numbers: {error}")))?;
        Ok(Token(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// Its text.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Whether `given` is it, in a time that does not tell how much of it is right.
    pub fn is(&self, given: &str) -> bool {
        let (own, given) = (self.0.as_bytes(), given.as_bytes());
        let differing = own.iter().zip(given).fold(0, |all, (a, b)| all | (a ^ b));
        own.len() == given.len() && std::hint::black_box(differing) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_token_is_it() -> io::Result<()> {
        let token = Token::new()?;
        assert_eq!(token.text().len(), 32);
        assert!(token.is(token.text()));
        assert!(!token.is("") && !token.is(&token.text()[1..]));
        assert!(!token.is(Token::new()?.text()), "two starts have two tokens");
        Ok(())
    }
}

//! What all requests share.

use crate::page::Files;
use crate::store::Store;
use crate::token::Token;
use std::ops::Deref;
use std::sync::Arc;

/// What all requests share.
pub struct State {
    /// The page.
    pub files: Files,
    /// The runs.
    pub store: Arc<Store>,
}

/// The state, handed to every request.
#[derive(Clone)]
pub struct Shared(pub Arc<State>);

impl Deref for Shared {
    type Target = State;

    fn deref(&self) -> &State {
        &self.0
    }
}

/// Who may look, where that is whoever started the server.
pub struct Door {
    /// The secret of this start.
    pub token: Token,
    /// The port that is listened on.
    pub port: u16,
}

impl Door {
    /// Servers on several ports are one site to a browser, so each has a cookie of its own.
    pub fn cookie_name(&self) -> String {
        format!("hodo_{}", self.port)
    }

    /// The cookie that stands for the token.
    pub fn cookie(&self) -> String {
        let (name, token) = (self.cookie_name(), self.token.text());
        format!("{name}={token}; Path=/; HttpOnly; SameSite=Strict")
    }
}

//! A recorder that is never on: every type is empty, every function returns at once.

use hodo_record::{Config, Flushed, Health, ScopeId, Started, Value};
use std::marker::PhantomData;
use std::time::Duration;

/// Guards stay on their thread here too, so that turning hodo on breaks no build.
type NotSend = PhantomData<*const ()>;

pub struct Site;

impl Site {
    pub const fn new(_text: &'static str) -> Site {
        Site
    }

    #[inline(always)]
    pub fn id(&self) -> u32 {
        0
    }
}

/// A type whose every method does nothing.
macro_rules! recorded {
    ($name:ident { $($field:ident: $ty:ty = $value:expr)? }) => {
        pub struct $name { $($field: $ty)? }

        #[allow(dead_code, clippy::unused_self)]
        impl $name {
            #[inline(always)]
            pub const fn inert() -> $name {
                $name { $($field: $value)? }
            }
            #[inline(always)]
            pub fn set(&self, _key: u32, _value: Value<'_>) {}
            #[inline(always)]
            pub fn set_all<const N: usize>(&self, _pairs: [(u32, Value<'_>); N]) {}
            #[inline(always)]
            pub fn is_recorded(&self) -> bool {
                false
            }
            #[inline(always)]
            pub fn id(&self) -> Option<ScopeId> {
                None
            }
        }
    };
}

recorded!(Scope { not_send: NotSend = PhantomData });
recorded!(Handle {});

impl Scope {
    #[inline(always)]
    pub fn fail(&mut self) {}
    #[inline(always)]
    pub fn cancel(self) {}
}

impl Handle {
    #[inline(always)]
    pub fn fail(&self) {}
    #[inline(always)]
    pub fn attach(&self) -> Attached {
        Attached { not_send: PhantomData }
    }
    #[inline(always)]
    pub fn link(&self) -> Link {
        Link
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Link;

#[allow(dead_code)]
impl Link {
    pub const NONE: Link = Link;

    #[inline(always)]
    pub fn current() -> Link {
        Link
    }
    #[inline(always)]
    pub fn attach(&self) -> Attached {
        Attached { not_send: PhantomData }
    }
}

#[allow(dead_code)]
pub struct Attached {
    not_send: NotSend,
}

pub struct Context(Handle);

impl Context {
    #[inline(always)]
    pub fn new(handle: Handle) -> Context {
        Context(handle)
    }
    #[inline(always)]
    pub fn enter(&mut self) -> Attached {
        Attached { not_send: PhantomData }
    }
    #[inline(always)]
    pub fn handle(&self) -> &Handle {
        &self.0
    }
}

#[inline(always)]
pub const fn is_on() -> bool {
    false
}
#[inline(always)]
pub fn intern(_text: &str) -> u32 {
    0
}
#[inline(always)]
pub fn open_at(_name: &Site, _index: Option<i64>) -> Scope {
    Scope::inert()
}
#[inline(always)]
pub fn open_with(_name: u32, _flags: u16, _index: Option<i64>) -> Scope {
    Scope::inert()
}
#[inline(always)]
pub fn begin(_name: u32, _flags: u16, _index: Option<i64>) -> Handle {
    Handle::inert()
}
#[inline(always)]
pub fn mark(_name: u32, _value: Value<'_>, _summary: bool) {}
#[inline(always)]
pub fn current() -> Option<ScopeId> {
    None
}
pub fn init(_config: Config) -> Started {
    Started::Off("hodo was compiled with the feature `off`".into())
}
pub fn shutdown() -> Flushed {
    Flushed::Off
}
pub fn flush(_timeout: Duration) -> Flushed {
    Flushed::Off
}
pub fn health() -> Health {
    Health::default()
}

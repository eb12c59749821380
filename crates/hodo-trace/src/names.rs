use std::borrow::Cow;

/// The interned strings of one process.
#[derive(Debug, Default)]
pub struct Names {
    texts: Vec<Option<Box<str>>>,
    /// Bytes in them.
    bytes: usize,
    /// Told with a lost name where several processes lost some.
    pid: Option<u32>,
}

/// Ids past this are damage: a process that interned that many names could not have kept them.
const MAX_ID: u32 = 1 << 24;
/// So are bytes past these: frames unpack to thousands of times their size.
const MAX_BYTES: usize = 256 << 20;

impl Names {
    /// Keeps `text` as string `id`; a later text replaces an earlier one.
    pub(crate) fn insert(&mut self, id: u32, text: &str) {
        if id >= MAX_ID || self.bytes + text.len() > MAX_BYTES {
            return;
        }
        let at = id as usize;
        if at >= self.texts.len() {
            self.texts.resize(at + 1, None);
        }
        if self.texts[at].as_deref() != Some(text) {
            let before = self.texts[at].as_ref().map_or(0, |text| text.len());
            self.bytes = self.bytes + text.len() - before;
            self.texts[at] = Some(text.into());
        }
    }

    /// The text of string `id`, if it was kept.
    pub fn get(&self, id: u32) -> Option<&str> {
        self.texts.get(id as usize)?.as_deref()
    }

    /// The text of string `id`, or a stand-in that says it was lost: `(lost name 12)`.
    pub fn text(&self, id: u32) -> Cow<'_, str> {
        match (self.get(id), self.pid) {
            (Some(text), _) => Cow::Borrowed(text),
            (None, None) => Cow::Owned(format!("(lost name {id})")),
            (None, Some(pid)) => Cow::Owned(format!("(lost name {id} of pid {pid})")),
        }
    }

    /// Keeps lost names apart from those of other processes, where a number means another name.
    pub(crate) fn tell_apart(&mut self, pid: u32) {
        self.pid = Some(pid);
    }

    /// Every id and its text.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &str)> {
        self.texts.iter().enumerate().filter_map(|(id, t)| Some((id as u32, t.as_deref()?)))
    }

    /// One past the highest id kept.
    pub fn end(&self) -> u32 {
        self.texts.len() as u32
    }
}

//! Training loops: a scope for every epoch and batch.

use crate::Scope;
use crate::backend::{Site, is_on};
use crate::scope::open_at;

static EPOCH: Site = Site::new("epoch");
static BATCH: Site = Site::new("batch");
static DATA_WAIT: Site = Site::new("data_wait");

/// An iterator whose every item is recorded as a scope; made by [`epochs`] and [`batches`].
///
/// The scope of an item opens when the item is asked for and stays open until the next one is
/// asked for or the adaptor is dropped, so the loop's body is inside it. `break` and `return`
/// close it, a panic marks it as failed. N items make N scopes; items passed over by `nth` or
/// `skip` get theirs too.
///
/// ```
/// let mut batches = hodo::batches(["a", "b"]);
/// assert_eq!(batches.next(), Some("a")); // `batch` 0 is open
/// assert_eq!(batches.next(), Some("b")); // `batch` 0 is closed, `batch` 1 open
/// drop(batches);
/// ```
pub struct Loops<I> {
    items: I,
    kind: Kind,
    next_index: i64,
    open: Option<Scope>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Epoch,
    Batch,
}

/// Records every item of `items` as a scope `epoch` with its index, from 0.
///
/// ```
/// for epoch in hodo::epochs(0..3) {
///     println!("epoch {epoch}");
/// }
/// ```
pub fn epochs<I: IntoIterator>(items: I) -> Loops<I::IntoIter> {
    Loops::new(items.into_iter(), Kind::Epoch)
}

/// Records every item of `items` as a scope `batch` with its index, from 0; the time spent waiting
/// for the item is its child `data_wait`.
///
/// ```
/// let loader = vec!["a", "b", "c"];
/// let batches = hodo::batches(&loader);
/// assert_eq!(batches.len(), 3);
/// for item in batches {
///     let _s = hodo::scope!("forward");
///     println!("{item}");
/// }
/// ```
pub fn batches<I: IntoIterator>(items: I) -> Loops<I::IntoIter> {
    Loops::new(items.into_iter(), Kind::Batch)
}

/// [`epochs`] and [`batches`] as methods of every iterator.
///
/// ```
/// use hodo::LoopExt;
///
/// let total: i32 = (1..=3).map(|i| i * i).hodo_batches().sum();
/// assert_eq!(total, 14);
/// ```
pub trait LoopExt: Iterator + Sized {
    /// [`epochs`] of this iterator.
    fn hodo_epochs(self) -> Loops<Self> {
        Loops::new(self, Kind::Epoch)
    }

    /// [`batches`] of this iterator.
    fn hodo_batches(self) -> Loops<Self> {
        Loops::new(self, Kind::Batch)
    }
}

impl<I: Iterator> LoopExt for I {}

impl<I> Loops<I> {
    fn new(items: I, kind: Kind) -> Self {
        Loops { items, kind, next_index: 0, open: None }
    }
}

impl<I: Iterator> Loops<I> {
    /// The next item, with the time it takes inside the scope that is its own.
    fn recorded_next(&mut self) -> Option<I::Item> {
        let name = if self.kind == Kind::Epoch { &EPOCH } else { &BATCH };
        let scope = open_at(name, Some(self.next_index));
        let wait = (self.kind == Kind::Batch).then(|| open_at(&DATA_WAIT, None));
        let item = self.items.next();
        if item.is_some() {
            self.open = Some(scope);
        } else {
            wait.into_iter().chain([scope]).for_each(Scope::cancel);
        }
        item
    }
}

impl<I: Iterator> Iterator for Loops<I> {
    type Item = I::Item;

    #[inline]
    fn next(&mut self) -> Option<I::Item> {
        self.open = None;
        let ends_here = self.items.size_hint().1 == Some(0);
        let item = if is_on() && !ends_here { self.recorded_next() } else { self.items.next() };
        self.next_index += 1;
        item
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.items.size_hint()
    }
}

impl<I: ExactSizeIterator> ExactSizeIterator for Loops<I> {
    fn len(&self) -> usize {
        self.items.len()
    }
}

impl<I: std::iter::FusedIterator> std::iter::FusedIterator for Loops<I> {}

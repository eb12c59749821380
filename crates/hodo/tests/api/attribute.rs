use crate::support::tree_of;
use std::fmt::Debug;
use std::io::{Error, Result};

#[hodo::scoped]
fn plain(x: u32) -> u32 {
    if x == 0 {
        return 7;
    }
    plain(x - 1)
}

#[hodo::scoped("load", index = shard, source = "disk", path = path, size = path.len())]
fn named(shard: usize, path: &str) -> usize {
    shard + path.len()
}

#[hodo::scoped(big = items.len() > 1)]
fn generic<'a, T, const N: usize>(items: &'a [T; N]) -> impl Iterator<Item = T> + 'a
where
    T: Debug + Clone,
{
    items.iter().cloned()
}

#[hodo::scoped(err)]
fn fallible(text: &str) -> Result<u32> {
    let number: u32 = text.parse().map_err(Error::other)?;
    if number == 0 {
        return Err(Error::other("zero"));
    }
    Ok(number)
}

#[hodo::scoped]
unsafe fn raw(pointer: *const u8) -> u8 {
    // SAFETY: the caller passes a readable pointer.
    unsafe { *pointer }
}

struct Model {
    scale: u32,
}

trait Forward {
    fn forward(&self, x: u32) -> u32;
    #[hodo::scoped]
    fn twice(&self, x: u32) -> u32 {
        self.forward(self.forward(x))
    }
}

impl Model {
    #[hodo::scoped("Model::scale", scale = self.scale)]
    fn scale(&mut self, r#by: u32) -> &mut u32 {
        self.scale *= by;
        &mut self.scale
    }

    #[hodo::scoped(index = self.scale, err)]
    fn check(&self) -> std::result::Result<&u32, String> {
        if self.scale > 5 { Err("too large".into()) } else { Ok(&self.scale) }
    }

    #[hodo::scoped]
    async fn predict(&self, x: &[u32]) -> Result<u32> {
        tokio::task::yield_now().await;
        let first = x.first().ok_or(Error::other("empty"))?;
        Ok(first * self.scale)
    }

    #[hodo::scoped("load", err, rows = rows)]
    async fn load(&self, rows: u32) -> std::result::Result<u32, String> {
        inner(rows).await;
        Err(format!("{rows} rows"))
    }
}

impl Forward for Model {
    #[hodo::scoped]
    fn forward(&self, x: u32) -> u32 {
        x * self.scale
    }
}

#[hodo::scoped(index = x)]
async fn inner(x: u32) -> impl Debug {
    tokio::task::yield_now().await;
    hodo::mark!("inside", x);
    x
}

#[test]
fn functions() {
    let tree = tree_of(|| {
        assert_eq!(plain(1), 7);
        assert_eq!(named(2, "ab"), 4);
        assert_eq!(generic(&[1, 2]).count(), 2);
        // SAFETY: the pointer is that of a live byte.
        assert_eq!(unsafe { raw(&9) }, 9);
    });
    assert_eq!(
        tree,
        "
plain
  plain
load[2] {path=ab, size=2, source=disk}
generic {big=true}
raw
"
    );
}

#[test]
fn errors_fail_the_scope() {
    let tree = tree_of(|| {
        assert_eq!(fallible("7").unwrap(), 7);
        assert!(fallible("0").is_err());
        assert!(fallible("x").is_err());
    });
    assert_eq!(
        tree,
        "
fallible
fallible {error=zero} failed
fallible {error=invalid digit found in string} failed
"
    );
}

#[test]
fn methods() {
    let tree = tree_of(|| {
        let mut model = Model { scale: 2 };
        assert_eq!(model.twice(3), 12);
        assert!(model.check().is_ok());
        assert_eq!(*model.scale(3), 6);
        assert!(model.check().is_err());
    });
    assert_eq!(
        tree,
        "
twice
  forward
  forward
check[2]
Model::scale {scale=2}
check[6] {error=too large} failed
"
    );
}

#[test]
fn async_functions() {
    fn assert_send<T: Send>(value: T) -> T {
        value
    }
    let tree = tree_of(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let model = Model { scale: 2 };
        runtime.block_on(async {
            assert_eq!(assert_send(model.predict(&[4])).await.unwrap(), 8);
            assert!(model.predict(&[]).await.is_err());
            assert_eq!(assert_send(model.load(3)).await, Err("3 rows".into()));
        });
    });
    assert_eq!(
        tree,
        "
predict
predict
load {error=3 rows, rows=3} failed
  inner[3]
    * inside = 3
"
    );
}

use crate::support::{alone, tree_of};
use hodo::LoopExt;
use std::panic::catch_unwind;

#[test]
fn epochs_and_batches() {
    let tree = tree_of(|| {
        for _epoch in hodo::epochs(0..2) {
            for batch in hodo::batches([10, 20]) {
                hodo::mark!("loss", batch);
            }
            hodo::scope!("validate").close();
        }
    });
    assert_eq!(
        tree,
        "
epoch[0]
  batch[0]
    * loss = 10
    data_wait
  batch[1]
    * loss = 20
    data_wait
  validate
epoch[1]
  batch[0]
    * loss = 10
    data_wait
  batch[1]
    * loss = 20
    data_wait
  validate
"
    );
}

/// A source that cannot say how much is left, so that its end is only seen by asking.
fn unsized_source(items: u32) -> impl Iterator<Item = u32> {
    let mut left = items;
    std::iter::from_fn(move || {
        let _s = hodo::scope!("load");
        left = left.checked_sub(1)?;
        Some(left)
    })
}

#[test]
fn the_wait_for_the_end_makes_no_batch() {
    let tree = tree_of(|| {
        let _s = hodo::scope!("train");
        assert_eq!(hodo::batches(unsized_source(2)).count(), 2);
        hodo::scope!("after").close();
    });
    let batches = tree.matches("batch[").count();
    let waits = tree.matches("data_wait").count();
    assert_eq!((batches, waits), (2, 2), "{tree}");
    assert!(tree.contains("train\n") && tree.contains("\n  after\n"), "{tree}");
}

#[test]
fn what_was_done_to_find_the_end_is_inside_of_what_is_around_the_loop() {
    let looks = || {
        let s = hodo::scope!("look");
        hodo::mark!("looked", 1);
        s.close();
        // With nothing opened around it but the wait that is taken back.
        hodo::mark!("found", 0);
        None::<u32>
    };
    let tree = tree_of(|| {
        let s = hodo::scope!("train");
        assert_eq!(hodo::batches(unsized_source(1)).count(), 1);
        assert_eq!(hodo::batches(std::iter::from_fn(looks)).count(), 0);
        let marks = || {
            hodo::mark!("nothing", 0);
            None::<u32>
        };
        assert_eq!(hodo::batches(std::iter::from_fn(marks)).count(), 0);
        s.close();
        assert_eq!(hodo::batches(unsized_source(0)).count(), 0);
        hodo::scope!("after").close();
    });
    assert_eq!(
        tree,
        "
train
  * found = 0
  * nothing = 0
  batch[0]
    data_wait
      load
  load
  look
    * looked = 1
load
after
"
    );
}

#[test]
fn loading_happens_inside_data_wait() {
    let tree = tree_of(|| {
        hodo::batches(unsized_source(9)).next();
    });
    assert_eq!(tree, "\nbatch[0]\n  data_wait\n    load\n");
}

#[test]
fn break_closes_the_batch() {
    let tree = tree_of(|| {
        for batch in hodo::batches(0..100) {
            if batch == 1 {
                break;
            }
        }
        hodo::scope!("after").close();
    });
    assert_eq!(
        tree,
        "
batch[0]
  data_wait
batch[1]
  data_wait
after
"
    );
}

#[test]
fn a_panic_fails_the_batch() {
    let tree = tree_of(|| {
        let caught = catch_unwind(|| {
            for batch in hodo::batches(0..3) {
                assert!(batch < 1, "bad batch");
            }
        });
        assert!(caught.is_err());
        hodo::scope!("after").close();
    });
    assert_eq!(
        tree,
        "
batch[0]
  data_wait
batch[1] failed
  data_wait
after
"
    );
}

#[test]
fn a_panic_of_the_source_fails_the_wait() {
    let tree = tree_of(|| {
        let caught = catch_unwind(|| {
            let mut source =
                hodo::batches(std::iter::from_fn(|| -> Option<u8> { std::panic::panic_any(()) }));
            source.next()
        });
        assert!(caught.is_err());
    });
    assert_eq!(tree, "\nbatch[0] failed\n  data_wait failed\n");
}

#[test]
fn an_adaptor_is_the_iterator_it_wraps() {
    let _alone = alone();
    let items = [1, 2, 3];
    let mut adaptor = items.iter().hodo_batches();
    assert_eq!((adaptor.len(), adaptor.size_hint()), (3, (3, Some(3))));
    assert_eq!(adaptor.next(), Some(&1));
    assert_eq!(adaptor.len(), 2);
    assert_eq!(adaptor.copied().collect::<Vec<_>>(), [2, 3]);
    assert_eq!((0..4).filter(|i| i % 2 == 0).hodo_epochs().size_hint(), (0, Some(4)));
}

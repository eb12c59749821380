use crate::support::tree_of;
use std::panic::catch_unwind;

fn nest(levels: u64) {
    if levels > 0 {
        let before = hodo::current_scope_id();
        let _s = hodo::scope!("level", index = levels);
        assert_eq!(hodo::current_scope_id(), before + 1);
        nest(levels - 1);
    } else {
        hodo::mark!("bottom", true);
    }
}

#[test]
fn deeper_than_the_limit_runs_unrecorded() {
    let tree = tree_of(|| {
        nest(70);
        assert_eq!(hodo::current_scope_id(), 1);
        hodo::scope!("after").close();
    });
    assert_eq!(tree.matches("level[").count(), 64);
    let deepest = tree.lines().find(|line| line.contains("* bottom")).unwrap();
    assert_eq!(deepest.len() - deepest.trim_start().len(), 64 * 2);
    assert!(tree.ends_with("\nafter\n"));
}

#[test]
fn the_number_counts_scopes_and_contexts() {
    tree_of(|| {
        assert_eq!(hodo::current_scope_id(), 1);
        let s = hodo::scope!("one");
        let context = hodo::enter_new_scope();
        assert_eq!(hodo::current_scope_id(), 3);
        let caught = catch_unwind(|| {
            let _context = hodo::enter_new_scope();
            let _s = hodo::scope!("two");
            assert_eq!(hodo::current_scope_id(), 5);
            std::panic::panic_any(());
        });
        assert!(caught.is_err());
        assert_eq!(hodo::current_scope_id(), 3);
        drop(context);
        drop(s);
        assert_eq!(hodo::current_scope_id(), 1);
        let elsewhere = std::thread::spawn(hodo::current_scope_id).join().unwrap();
        assert_eq!(elsewhere, 1);
    });
}

assert_eq!(hodo::current_scope_id(), 1);
{
    let _context = hodo::enter_new_scope();
    let _s = hodo::scope!("numbered");
    assert_eq!(hodo::current_scope_id(), 3);
}
assert_eq!(hodo::current_scope_id(), 1);

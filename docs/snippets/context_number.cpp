assert(hodo::current_scope_id() == 1);
{
  const hodo::NewScope context;
  const hodo::Scope scope("numbered");
  assert(hodo::current_scope_id() == 3);
}
assert(hodo::current_scope_id() == 1);

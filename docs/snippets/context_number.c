assert(hodo_current_scope_id() == 1);
hodo_enter_new_scope();
hodo_scope scope = hodo_open_named("numbered");
assert(hodo_current_scope_id() == 3);
hodo_close(NULL, scope);
hodo_leave_new_scope();
assert(hodo_current_scope_id() == 1);

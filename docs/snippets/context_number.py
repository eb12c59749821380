assert hodo.current_scope_id() == 1
with hodo.enter_new_scope():
    with hodo.scope("numbered"):
        assert hodo.current_scope_id() == 3
assert hodo.current_scope_id() == 1

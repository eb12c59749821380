hodo_scope step = hodo_open_named("step");
hodo_handle parent = hodo_current();
/* on another thread: */
hodo_entered entered = hodo_attach(parent);
hodo_close(NULL, hodo_open_named("shard"));
hodo_detach(entered);
hodo_close(NULL, step);

hodo_scope step = hodo_open_named("step");
hodo_handle copy = hodo_begin(hodo_name("copy", 4), 0, 0);
hodo_value bytes = hodo_int("bytes", 4096);
hodo_set_begun(copy, &bytes, 1);
hodo_close(NULL, hodo_open_named("compute"));
hodo_end(copy, 0);
hodo_close(NULL, step);

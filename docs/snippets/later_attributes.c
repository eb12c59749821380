hodo_scope load = hodo_open_named("load");
hodo_value rows = hodo_int("rows", 32);
hodo_set(NULL, load, &rows, 1);
hodo_value source = hodo_text("source", "cache");
hodo_set(NULL, load, &source, 1);
hodo_close(NULL, load);

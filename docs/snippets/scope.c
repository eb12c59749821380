hodo_scope forward = hodo_open_named("forward");
hodo_scope attention = hodo_open_named("attention");
hodo_close(NULL, attention);
hodo_close(NULL, forward);

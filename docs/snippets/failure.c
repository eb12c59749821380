hodo_scope parse = hodo_open_named("parse");
hodo_value error = hodo_text("error", "seven is no number");
hodo_set(NULL, parse, &error, 1);
hodo_fail(parse);
hodo_close(NULL, parse);

hodo::Scope load("load");
load.set("rows", 32);
load.set("source", "cache");
load.end();

let load = hodo::scope!("load");
hodo::set!(load, rows = 32, source = "cache");
load.close();

let step = hodo::scope!("step");
let copy = hodo::begin!("copy", bytes = 4096);
hodo::scope!("compute").close();
copy.end();
step.close();

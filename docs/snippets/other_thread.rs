let step = hodo::scope!("step");
let worker = hodo::thread::spawn(|| {
    let _s = hodo::scope!("shard");
});
worker.join().unwrap();
step.close();

let epoch = hodo::scope!("epoch");
for loss in [0.9, 0.5, 0.3] {
    hodo::mark!("loss", loss);
}
hodo::mark!("accuracy", 0.93, summary);
epoch.close();

let mut parse = hodo::scope!("parse");
parse.fail_with(&"seven is no number");
parse.close();

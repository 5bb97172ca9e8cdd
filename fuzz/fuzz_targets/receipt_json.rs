#![no_main]
clenshaw_fuzz::target!(receipt_json);

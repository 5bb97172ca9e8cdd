#![no_main]
clenshaw_fuzz::target!(data_json);

#![no_main]
clenshaw_fuzz::target!(ensemble_json);

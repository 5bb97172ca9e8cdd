#![no_main]
clenshaw_fuzz::target!(model);

#![no_main]
clenshaw_fuzz::target!(record);

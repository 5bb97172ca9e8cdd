#![no_main]
clenshaw_fuzz::target!(journal);

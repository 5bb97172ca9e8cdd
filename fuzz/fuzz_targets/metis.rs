#![no_main]
clenshaw_fuzz::target!(metis);

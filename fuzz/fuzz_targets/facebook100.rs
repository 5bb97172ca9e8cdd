#![no_main]
clenshaw_fuzz::target!(facebook100);

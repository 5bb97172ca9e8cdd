#![no_main]
clenshaw_fuzz::target!(unzip);

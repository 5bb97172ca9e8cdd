#![no_main]
clenshaw_fuzz::target!(gml);

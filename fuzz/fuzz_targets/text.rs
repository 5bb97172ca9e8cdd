#![no_main]
clenshaw_fuzz::target!(text);

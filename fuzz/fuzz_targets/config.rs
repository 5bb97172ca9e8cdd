#![no_main]
clenshaw_fuzz::target!(config);

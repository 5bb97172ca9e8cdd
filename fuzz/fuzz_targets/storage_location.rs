#![no_main]
clenshaw_fuzz::target!(storage_location);

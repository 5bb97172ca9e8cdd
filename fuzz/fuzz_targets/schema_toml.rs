#![no_main]
clenshaw_fuzz::target!(schema_toml);

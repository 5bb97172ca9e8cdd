//! Readers, one file a format.
//!
//! A reader takes a path and returns a [`Dataset`](super::Dataset) that the caller still has to check.
//! Whatever the bytes, it returns an error that names file and line or byte, and it never allocates
//! more than a small multiple of the file's size.

pub mod facebook100;
pub mod geom_gcn;
pub mod graphml;
pub mod matlab;
pub mod array;
pub mod npy;
pub mod npz;
pub mod pickle;
mod csr;
pub mod geom_splits;
pub mod planetoid;
pub mod heterophilous;
pub mod linkx;
pub mod arrays;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod real_files;

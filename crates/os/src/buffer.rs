//! A large buffer that costs memory only while it is used.

use crate::system;
use std::io;
use std::ops::{Deref, DerefMut};

/// Bytes on pages of their own.
#[derive(Debug)]
pub struct Buffer {
    pages: system::Pages,
}

impl Buffer {
    /// Makes a buffer of this size; no page exists before it is written.
    pub fn new(len: usize) -> io::Result<Self> {
        Ok(Self { pages: system::Pages::map(len)? })
    }

    /// Gives the pages back to the system, and loses their content.
    pub fn forget(&mut self) {
        self.pages.discard();
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.pages.bytes()
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.pages.bytes_mut()
    }
}

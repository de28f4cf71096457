//! A segment as a reader sees it: complete, still being written, or cut anywhere by a crash. Entries are in the
//! order of their offsets and end at the first slot that does not decode. The last one may grow, shrink to the
//! bytes really written, or be half rewritten at any moment, so it is never cached.

use crate::{Error, name, positional_io};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use tenure_core::output::Entry;

/// The open segment, see the module.
#[derive(Debug)]
pub(crate) struct SegmentReader {
    start: u64,
    index: File,
    index_path: PathBuf,
    log: Option<File>,
    log_path: PathBuf,
    /// The slot where the last search ended: mostly the next one ends there, or one further.
    slot: u64,
}

impl SegmentReader {
    /// Opens a segment; `None` if it has been dropped.
    pub(crate) fn open(dir: &Path, start: u64) -> Result<Option<Self>, Error> {
        let (index_path, log_path) = (name::index(dir, start), name::log(dir, start));
        let index = open(&index_path)?;
        Ok(index.map(|index| Self { start, index, index_path, log: None, log_path, slot: 0 }))
    }

    /// Returns the offset of its first byte.
    pub(crate) fn start(&self) -> u64 {
        self.start
    }

    /// Returns the entry in a slot; `None` is the end of the index.
    pub(crate) fn entry(&self, slot: u64) -> Result<Option<Entry>, Error> {
        let mut bytes = [0; Entry::SIZE];
        let read = positional_io::read(&self.index, &mut bytes, slot * Entry::SIZE as u64)
            .map_err(Error::read(&self.index_path))?;
        if read < Entry::SIZE {
            return Ok(None);
        }
        Entry::decode(&bytes).map_err(|newer| Error::Newer { path: self.index_path.clone(), source: newer })
    }

    /// Returns the number of entries.
    pub(crate) fn entries(&self) -> Result<u64, Error> {
        self.begun_by(u64::MAX)
    }

    /// Returns the entry that contains the byte `at`.
    pub(crate) fn find(&mut self, at: u64) -> Result<Option<Entry>, Error> {
        for slot in [self.slot, self.slot + 1] {
            match self.entry(slot)? {
                None => return Ok(None),
                Some(entry) if at < entry.offset => break,
                Some(entry) if at < entry.end() => {
                    self.slot = slot;
                    return Ok(Some(entry));
                }
                Some(_) => {}
            }
        }
        self.slot = self.begun_by(at)?.saturating_sub(1);
        Ok(self.entry(self.slot)?.filter(|entry| (entry.offset..entry.end()).contains(&at)))
    }

    /// Fills `buf` from the log, beginning at the byte `at`; returns the length.
    pub(crate) fn read(&mut self, buf: &mut [u8], at: u64) -> Result<usize, Error> {
        let start = self.start;
        let Some(log) = self.log()? else { return Ok(0) };
        positional_io::read(log, buf, at - start).map_err(Error::read(&self.log_path))
    }

    /// Returns the offset where the log ends, whatever the entries say.
    pub(crate) fn logged(&mut self) -> Result<u64, Error> {
        let len = match self.log()? {
            Some(log) => log.metadata().map_err(Error::read(&self.log_path))?.len(),
            None => 0,
        };
        Ok(self.start + len)
    }

    /// Returns the log; there is none before the first byte, nor after the segment was dropped.
    fn log(&mut self) -> Result<Option<&File>, Error> {
        if self.log.is_none() {
            self.log = open(&self.log_path)?;
        }
        Ok(self.log.as_ref())
    }

    /// Returns the number of entries that begin at or before `at`.
    fn begun_by(&self, at: u64) -> Result<u64, Error> {
        let bytes = self.index.metadata().map_err(Error::read(&self.index_path))?.len();
        let (mut low, mut high) = (0, bytes / Entry::SIZE as u64);
        while low < high {
            let middle = low.midpoint(high);
            match self.entry(middle)? {
                Some(entry) if entry.offset <= at => low = middle + 1,
                _ => high = middle,
            }
        }
        Ok(low)
    }
}

fn open(path: &Path) -> Result<Option<File>, Error> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::read(path)(error)),
    }
}

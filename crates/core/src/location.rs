//! The location of a state root or a registry file, and the rule that tells the original from a copy. A copy must never
//! act on the runs of its original: it gets a new id, and its records under the old id are foreign to it.

use serde::{Deserialize, Serialize};

/// The location of a file or directory in one boot. On disk it is one JSON object; unknown fields are ignored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileLocation {
    /// The device's number, which may change with a boot.
    pub device: u64,
    /// The inode on that device.
    pub inode: u64,
    /// The path, without links.
    pub path: String,
    /// The boot in which these three were read.
    pub boot_id: String,
}

/// The origin of a file that carries an id, judged by its location.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The file is the one that got the id, perhaps moved.
    Original,
    /// The file is a copy of the one that got the id.
    Copy,
}

impl FileLocation {
    /// Tells whether the file that is at `now` is the one that was recorded here, or a copy.
    ///
    /// Within one boot, device and inode identify a file, wherever it is moved. Across boots a device number means
    /// nothing, so an equal inode or an equal path is enough: a restored disk has other inodes at the same path, and a
    /// moved root has the same inode at another path.
    pub fn origin(&self, now: &FileLocation) -> Origin {
        let original = if self.boot_id == now.boot_id {
            (self.device, self.inode) == (now.device, now.inode)
        } else {
            self.inode == now.inode || self.path == now.path
        };
        if original { Origin::Original } else { Origin::Copy }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(device: u64, inode: u64, path: &str, boot: &str) -> FileLocation {
        FileLocation { device, inode, path: path.to_owned(), boot_id: boot.to_owned() }
    }

    #[test]
    fn within_one_boot_only_device_and_inode_count() {
        let recorded = at(1, 10, "/a", "boot");
        for (now, expected) in [
            (at(1, 10, "/a", "boot"), Origin::Original),
            (at(1, 10, "/moved", "boot"), Origin::Original),
            (at(1, 11, "/a", "boot"), Origin::Copy),
            (at(2, 10, "/a", "boot"), Origin::Copy),
            (at(1, 11, "/copy", "boot"), Origin::Copy),
            (at(2, 10, "/copy", "boot"), Origin::Copy),
        ] {
            assert_eq!(recorded.origin(&now), expected, "{now:?}");
        }
    }

    #[test]
    fn after_a_boot_an_equal_inode_or_an_equal_path_is_enough() {
        let recorded = at(1, 10, "/a", "before");
        for (now, expected) in [
            (at(9, 10, "/a", "after"), Origin::Original),
            (at(9, 10, "/moved", "after"), Origin::Original),
            (at(9, 11, "/a", "after"), Origin::Original),
            (at(1, 11, "/copy", "after"), Origin::Copy),
        ] {
            assert_eq!(recorded.origin(&now), expected, "{now:?}");
        }
    }
}

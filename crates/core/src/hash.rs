//! FNV-1a: tells a torn or edited record from a whole one, and one command line from another. Collisions can be
//! made on purpose, and nothing here relies on the opposite.

const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

/// Returns the 64-bit FNV-1a hash of `bytes`.
pub fn fnv64(bytes: &[u8]) -> u64 {
    bytes.iter().fold(OFFSET, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME))
}

/// Returns the hash of a command line, each argument ended by a NUL, as sixteen hex digits.
pub fn command_hash(argv: &[Vec<u8>]) -> String {
    let mut joined = Vec::new();
    for argument in argv {
        joined.extend_from_slice(argument);
        joined.push(0);
    }
    format!("{:016x}", fnv64(&joined))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_the_published_one() {
        assert_eq!(fnv64(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv64(b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn moving_a_blank_between_arguments_changes_the_hash() {
        assert_ne!(command_hash(&[b"a b".to_vec()]), command_hash(&[b"a".to_vec(), b"b".to_vec()]));
    }
}

//! SipHash-2-4 with a zero key, for short strings (Aumasson and Bernstein 2012).
//!
//! The `simhash` crate hashes its features with it, so it is part of the definition of a SimHash.
//! The usual implementation is for streams. This one takes whole strings in one padded buffer and
//! hashes two at once: the algorithm is one long chain of dependent steps, and one core can run two
//! chains.

const INITIAL: [u64; 4] =
    [0x736f_6d65_7073_6575, 0x646f_7261_6e64_6f6d, 0x6c79_6765_6e65_7261, 0x7465_6462_7974_6573];

/// Hashes the strings `a` and `b` (ranges of `bytes`) as [`std::hash::Hash`] hashes a `str`: its
/// bytes, then `0xff`. Both must have the same number of [`blocks`], and `bytes` must have eight
/// more bytes after each string.
pub(crate) fn hash_pair(bytes: &[u8], a: (usize, usize), b: (usize, usize)) -> (u64, u64) {
    let (mut s, mut t) = (INITIAL, INITIAL);
    let whole = (a.1 - a.0) / 8;
    for i in 0..whole {
        let m = read(bytes, a.0 + 8 * i);
        let n = read(bytes, b.0 + 8 * i);
        s[3] ^= m;
        t[3] ^= n;
        for _ in 0..2 {
            round(&mut s);
            round(&mut t);
        }
        s[0] ^= m;
        t[0] ^= n;
    }
    let m = last(bytes, a, whole);
    let n = last(bytes, b, whole);
    s[3] ^= m;
    t[3] ^= n;
    for _ in 0..2 {
        round(&mut s);
        round(&mut t);
    }
    s[0] ^= m;
    t[0] ^= n;
    // A string whose length is 7 modulo 8 fills its last block with the 0xff, so the length gets a
    // block of its own. Both strings of a pair do this or neither (see `blocks`).
    if (a.1 - a.0) % 8 == 7 {
        let m = length(a);
        let n = length(b);
        s[3] ^= m;
        t[3] ^= n;
        for _ in 0..2 {
            round(&mut s);
            round(&mut t);
        }
        s[0] ^= m;
        t[0] ^= n;
    }
    s[2] ^= 0xff;
    t[2] ^= 0xff;
    for _ in 0..4 {
        round(&mut s);
        round(&mut t);
    }
    (s[0] ^ s[1] ^ s[2] ^ s[3], t[0] ^ t[1] ^ t[2] ^ t[3])
}

/// Equal for two strings exactly if [`hash_pair`] can hash them together.
pub(crate) fn blocks(string: (usize, usize)) -> usize {
    let len = string.1 - string.0;
    len / 8 * 2 + usize::from(len % 8 == 7)
}

/// The block after the last whole one: the string's tail, the `0xff`, and the length if it fits.
fn last(bytes: &[u8], string: (usize, usize), whole: usize) -> u64 {
    let tail = (string.1 - string.0) % 8;
    let kept = read(bytes, string.0 + 8 * whole) & ((1 << (8 * tail)) - 1);
    let block = kept | 0xff << (8 * tail);
    if tail == 7 { block } else { block | length(string) }
}

/// The length of string and `0xff`, modulo 256, in the highest byte.
fn length(string: (usize, usize)) -> u64 {
    ((string.1 - string.0 + 1) as u64) << 56
}

fn read(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

#[inline(always)]
fn round(v: &mut [u64; 4]) {
    v[0] = v[0].wrapping_add(v[1]);
    v[2] = v[2].wrapping_add(v[3]);
    v[1] = v[1].rotate_left(13) ^ v[0];
    v[3] = v[3].rotate_left(16) ^ v[2];
    v[0] = v[0].rotate_left(32);
    v[2] = v[2].wrapping_add(v[1]);
    v[0] = v[0].wrapping_add(v[3]);
    v[1] = v[1].rotate_left(17) ^ v[2];
    v[3] = v[3].rotate_left(21) ^ v[0];
    v[2] = v[2].rotate_left(32);
}

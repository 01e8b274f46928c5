//! Integers and byte strings in a buffer: little-endian, or variable-length (LEB128).

/// Bytes that do not have the form they should, and what is wrong with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed(pub &'static str);

const SHORT: Malformed = Malformed("it ends too early");

/// Appends values to a buffer.
pub(crate) trait Put {
    fn put_u8(&mut self, value: u8);
    fn put_u32(&mut self, value: u32);
    fn put_u64(&mut self, value: u64);
    fn put_varint(&mut self, value: u64);
    /// Length, then the bytes.
    fn put_bytes(&mut self, bytes: &[u8]);
}

impl Put for Vec<u8> {
    fn put_u8(&mut self, value: u8) {
        self.push(value);
    }

    fn put_u32(&mut self, value: u32) {
        self.extend_from_slice(&value.to_le_bytes());
    }

    fn put_u64(&mut self, value: u64) {
        self.extend_from_slice(&value.to_le_bytes());
    }

    fn put_varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.push(value as u8);
    }

    fn put_bytes(&mut self, bytes: &[u8]) {
        self.put_varint(bytes.len() as u64);
        self.extend_from_slice(bytes);
    }
}

/// Takes values from the front of a buffer; never reads beyond its end.
#[derive(Clone, Copy, Debug)]
pub struct Take<'a>(pub &'a [u8]);

impl<'a> Take<'a> {
    pub fn slice(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let (head, tail) = self.0.split_at_checked(length).ok_or(SHORT)?;
        self.0 = tail;
        Ok(head)
    }

    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (head, tail) = self.0.split_first_chunk().ok_or(SHORT)?;
        self.0 = tail;
        Ok(*head)
    }

    pub fn u8(&mut self) -> Result<u8, Malformed> {
        self.array().map(|[b]| b)
    }

    pub fn u32(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_le_bytes)
    }

    pub fn u64(&mut self) -> Result<u64, Malformed> {
        self.array().map(u64::from_le_bytes)
    }

    #[inline]
    pub fn varint(&mut self) -> Result<u64, Malformed> {
        // Most numbers are that short.
        if let [byte @ ..0x80, rest @ ..] = self.0 {
            self.0 = rest;
            return Ok(u64::from(*byte));
        }
        self.long_varint()
    }

    fn long_varint(&mut self) -> Result<u64, Malformed> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            let part = u64::from(byte & 0x7f);
            if shift == 63 && part > 1 {
                break;
            }
            value |= part << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Malformed("a number has more than 64 bits"))
    }

    /// A variable-length number that fits the narrower type asked for.
    #[inline]
    pub fn narrow<T: TryFrom<u64>>(&mut self) -> Result<T, Malformed> {
        T::try_from(self.varint()?).map_err(|_| Malformed("a number is out of range"))
    }

    /// What [`Put::put_bytes`] wrote.
    #[inline]
    pub fn bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let length = self.narrow()?;
        self.slice(length)
    }

    /// Asserts that nothing is left.
    pub fn end(self) -> Result<(), Malformed> {
        if self.0.is_empty() { Ok(()) } else { Err(Malformed("data after its end")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_come_back(values in proptest::collection::vec(any::<u64>(), 0..20), shift in 0u32..64) {
            let mut bytes = Vec::new();
            for v in &values {
                bytes.put_varint(v >> shift);
                bytes.put_u64(*v);
            }
            let mut take = Take(&bytes);
            for v in &values {
                prop_assert_eq!(take.varint(), Ok(v >> shift));
                prop_assert_eq!(take.u64(), Ok(*v));
            }
            prop_assert_eq!(take.end(), Ok(()));
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let mut take = Take(&bytes);
            while take.bytes().is_ok() && !take.0.is_empty() {}
            prop_assert!(take.0.len() <= bytes.len());
        }
    }

    #[test]
    fn a_number_wider_than_64_bits_is_refused() {
        let mut widest = Vec::new();
        widest.put_varint(u64::MAX);
        assert_eq!(Take(&widest).varint(), Ok(u64::MAX));
        *widest.last_mut().unwrap() = 2;
        assert!(Take(&widest).varint().is_err());
        assert!(Take(&[0xff; 11]).varint().is_err());
        assert!(Take(&[0x80, 0x80, 0x04]).narrow::<u16>().is_err());
    }
}

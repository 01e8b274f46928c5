//! Runs come back, and a damaged one is told.

use super::*;
use crate::storage::MemoryStorage;
use proptest::collection::vec;
use proptest::prelude::*;

const CYCLE: Cycle = Cycle(4);

fn write(storage: &MemoryStorage, part: u32, records: &[Vec<u8>]) {
    let mut writer = SpillWriter::create(storage, CYCLE, part).unwrap();
    records.iter().for_each(|r| writer.push(r).unwrap());
    writer.finish().unwrap();
}

fn read(storage: &MemoryStorage, part: u32) -> Result<Vec<Vec<u8>>, ReadError> {
    let mut reader = SpillReader::open(storage, CYCLE, part)?;
    let mut records = Vec::new();
    while let Some(record) = reader.next_record()? {
        records.push(record.to_vec());
    }
    Ok(records)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn runs_come_back(short in vec(vec(any::<u8>(), 0..20), 0..30), long in vec(0usize..100_000, 0..5)) {
        let storage = MemoryStorage::new();
        let mut records = short;
        records.extend(long.into_iter().map(|length| vec![7; length]));
        write(&storage, 0, &records);
        write(&storage, 1, &[]);
        prop_assert_eq!(read(&storage, 0).unwrap(), records);
        prop_assert!(read(&storage, 1).unwrap().is_empty());
        remove(&storage, CYCLE, 0).unwrap();
        remove(&storage, CYCLE, 1).unwrap();
        prop_assert!(storage.list().unwrap().is_empty());
    }
}

#[test]
fn a_damaged_run_is_told() {
    let storage = MemoryStorage::new();
    write(&storage, 3, &[b"first".to_vec(), b"second".to_vec()]);
    let image = storage.image();
    let file = name(CYCLE, 3);
    for at in 0..image[&file].len() {
        let mut flipped = image.clone();
        flipped.get_mut(&file).unwrap()[at] ^= 0x10;
        let error = read(&MemoryStorage::with_files(flipped), 3).unwrap_err();
        assert!(matches!(error, ReadError::Damaged(d) if d.file.ends_with(&file)), "byte {at}");
    }
    assert!(read(&storage, 4).unwrap_err().is_absent());
    assert!(remove(&storage, CYCLE, 4).is_err());
}

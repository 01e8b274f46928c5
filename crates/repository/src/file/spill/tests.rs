//! Runs come back, and a damaged one is told.

use super::*;
use crate::storage::MemoryStorage;
use proptest::collection::vec;
use proptest::prelude::*;
use recrawl_types::Spill;
use std::io::{self, Read, Write};
use std::sync::Arc;

const ROUND: Round = Round(4);

fn write(storage: &MemoryStorage, part: u32, records: &[Vec<u8>]) {
    let mut writer = SpillWriter::create(storage, ROUND, part).unwrap();
    records.iter().for_each(|r| writer.push(r).unwrap());
    writer.finish().unwrap();
}

fn read(storage: &MemoryStorage, part: u32) -> Result<Vec<Vec<u8>>, ReadError> {
    let mut reader = SpillReader::open(storage, ROUND, part)?;
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
        remove(&storage, ROUND, 0).unwrap();
        remove(&storage, ROUND, 1).unwrap();
        prop_assert!(storage.list().unwrap().is_empty());
    }
}

#[test]
fn frames_that_shrink_and_that_do_not_pass_through_one_small_buffer() {
    let storage = MemoryStorage::new();
    let mut seed = 1u64;
    let mut noise = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 56) as u8
    };
    // Every other frame, roughly, is noise.
    let record =
        |n: usize| (0..200).map(|_| if (n / 400).is_multiple_of(2) { n as u8 } else { noise() }).collect();
    let records: Vec<Vec<u8>> = (0..4000).map(record).collect();
    write(&storage, 0, &records);
    let mut reader = SpillReader::open(&storage, ROUND, 0).unwrap();
    for record in &records {
        assert_eq!(reader.next_record().unwrap(), Some(&record[..]));
        assert!(reader.payload.capacity() <= FRAME + LAST_RECORD, "{} bytes", reader.payload.capacity());
    }
    for _ in 0..2 {
        assert_eq!(reader.next_record().unwrap(), None);
    }

    let mut image = storage.image();
    *image.get_mut(&name(ROUND, 0)).unwrap().last_mut().unwrap() ^= 1;
    let mut reader = SpillReader::open(&MemoryStorage::with_files(image), ROUND, 0).unwrap();
    let read = std::iter::from_fn(|| reader.next_record().map(|r| r.map(<[u8]>::len)).transpose());
    let errors: Vec<bool> = read.skip_while(Result::is_ok).take(2).map(|r| r.is_err()).collect();
    assert_eq!(errors, [true, true], "what is damaged stays so");
}

#[test]
fn a_damaged_run_is_told() {
    let storage = MemoryStorage::new();
    write(&storage, 3, &[b"first".to_vec(), b"second".to_vec()]);
    let image = storage.image();
    let file = name(ROUND, 3);
    for at in 0..image[&file].len() {
        let mut flipped = image.clone();
        flipped.get_mut(&file).unwrap()[at] ^= 0x10;
        let error = read(&MemoryStorage::with_files(flipped), 3).unwrap_err();
        assert!(matches!(error, ReadError::Damaged(d) if d.file.ends_with(&file)), "byte {at}");
    }
    assert!(read(&storage, 4).unwrap_err().is_absent());
    assert!(remove(&storage, ROUND, 4).is_err());
}

#[test]
fn a_run_of_bytes_is_read_once_and_then_gone() {
    let storage = Arc::new(MemoryStorage::new());
    let mut runs = SpillRuns::new(storage.clone(), ROUND);
    let bytes: Vec<u8> = (0..300_000u32).map(|i| (i % 251) as u8).collect();
    for (run, bytes) in [(0, &bytes[..]), (7, &[]), (8, b"never read")] {
        let mut file = runs.create(run).unwrap();
        // In pieces of any length, one of them empty.
        bytes.chunks(70_001).chain([&[][..]]).for_each(|piece| file.write_all(piece).unwrap());
        file.flush().unwrap();
        file.flush().unwrap();
        assert!(file.write_all(b"more").is_err(), "it is complete");
    }
    assert_eq!(storage.list().unwrap().len(), 3);

    let (mut one, mut other) = (runs.take(0).unwrap(), runs.take(7).unwrap());
    assert_eq!(storage.list().unwrap(), [name(ROUND, 8)], "what is open has no name any more");
    let mut back = Vec::new();
    assert_eq!(one.read_to_end(&mut back).unwrap(), 300_000);
    assert_eq!(back, bytes);
    assert_eq!(other.read(&mut [0; 8]).unwrap(), 0);
    assert_eq!(runs.take(0).err().unwrap().kind(), io::ErrorKind::NotFound);
    drop(runs);
    assert!(storage.list().unwrap().is_empty(), "what was never read goes too");
}

#[test]
fn a_damaged_run_of_bytes_is_told_with_its_name() {
    let storage = MemoryStorage::new();
    write(&storage, 0, &[vec![1; 100]]);
    let mut image = storage.image();
    *image.get_mut(&name(ROUND, 0)).unwrap().last_mut().unwrap() ^= 1;
    let mut runs = SpillRuns::new(Arc::new(MemoryStorage::with_files(image)), ROUND);
    let error = runs.take(0).unwrap().read_to_end(&mut Vec::new()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    assert!(error.to_string().contains(&name(ROUND, 0)), "{error}");
}

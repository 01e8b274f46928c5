//! What fuzzers found, and what a few mutations of it do: on every compiler, in every test run.

mod mutation;

use mutation::{Mutator, words};
use recrawl_fuzzing::{FuzzTarget, TARGETS};
use std::collections::BTreeSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// Mutated inputs of each target.
const MUTANTS: u64 = 2_000;

fn fuzz(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz").join(folder)
}

/// The names in a folder, in order.
fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    entries.map(|entry| entry.unwrap().file_name().into_string().expect("a name in UTF-8")).collect()
}

/// The files of a target's corpus, by name.
fn corpus(target: &FuzzTarget) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = fuzz("corpus").join(target.name);
    let paths = names(&folder).into_iter().map(|name| folder.join(name));
    paths.map(|path| (path.clone(), fs::read(&path).expect("a file"))).collect()
}

/// Is the input taken without a panic?
fn is_taken(target: &FuzzTarget, input: &[u8]) -> bool {
    catch_unwind(AssertUnwindSafe(|| (target.check)(input))).is_ok()
}

#[test]
fn every_target_has_a_program_and_a_corpus_and_nothing_is_left_over() {
    let targets: BTreeSet<String> = TARGETS.iter().map(|target| target.name.to_owned()).collect();
    assert_eq!(names(&fuzz("corpus")), targets, "the folders of fuzz/corpus");
    let programs: BTreeSet<String> = targets.iter().map(|name| format!("{name}.rs")).collect();
    assert_eq!(names(&fuzz("fuzz_targets")), programs, "the files of fuzz/fuzz_targets");
    let dictionaries: BTreeSet<String> = targets.iter().map(|name| format!("{name}.txt")).collect();
    assert_eq!(names(&fuzz("dictionaries")), dictionaries, "the files of fuzz/dictionaries");
    let manifest = fs::read_to_string(fuzz("Cargo.toml")).unwrap();
    let (mut files, mut bytes) = (0, 0);
    for target in TARGETS {
        assert!(
            manifest.contains(&format!("\nname = \"{}\"\n", target.name)),
            "fuzz/Cargo.toml: {}",
            target.name
        );
        let corpus = corpus(target);
        assert!(corpus.len() >= 8, "fuzz/corpus/{} has {} files", target.name, corpus.len());
        files += corpus.len();
        bytes += corpus.iter().map(|(_, input)| input.len()).sum::<usize>();
    }
    assert!(
        files < 600 && bytes < 1 << 20,
        "fuzz/corpus: {files} files of {bytes} bytes; `cargo fuzz cmin` them"
    );
}

#[test]
fn every_input_of_the_corpora_is_taken() {
    let all = TARGETS.iter().flat_map(|target| corpus(target).into_iter().map(move |input| (target, input)));
    let broken: Vec<String> = all
        .filter(|(target, (_, input))| !is_taken(target, input))
        .map(|(_, (path, _))| path.display().to_string())
        .collect();
    assert!(broken.is_empty(), "these inputs break a check:\n{}", broken.join("\n"));
}

/// Another seed than the usual one is taken from FUZZ_SEED.
#[test]
#[expect(clippy::disallowed_methods, reason = "the seed is printed, and this is how it comes back")]
fn mutated_inputs_are_taken() {
    let seed = std::env::var("FUZZ_SEED").map_or(1, |seed| seed.parse().expect("FUZZ_SEED is a number"));
    println!("FUZZ_SEED={seed}");
    for target in TARGETS {
        let inputs: Vec<Vec<u8>> = corpus(target).into_iter().map(|(_, input)| input).collect();
        let words =
            words(&fs::read_to_string(fuzz("dictionaries").join(format!("{}.txt", target.name))).unwrap());
        for number in 0..MUTANTS {
            let input = Mutator::new(seed, number).mutate(&inputs, &words);
            if !is_taken(target, &input) {
                let path =
                    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{seed}-{number}", target.name));
                fs::write(&path, &input).expect("the input can be kept");
                panic!(
                    "mutation {number} of seed {seed} breaks the check of {}; once mended, the input belongs in \
                     fuzz/corpus/{}: {}",
                    target.name,
                    target.name,
                    path.display()
                );
            }
        }
    }
}

//! The corpus of `recrawl-lab focus train` and `replay`, and its topics.

use crate::cli::{FocusCorpusArgs, Idf};
use recrawl_corpora::corpus::{PARTS, ReadPart};
use recrawl_corpora::{Corpus, web};
use recrawl_crawl::failure::Failure;
use recrawl_crawl::parts::focus::read_topic;
use recrawl_focus::classifier::terms::Terms;
use recrawl_focus::{PageWords, Words};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// Pages that are looked for.
pub struct Wanted {
    /// Name in reports.
    pub name: String,
    /// The prepared terms.
    pub terms: Terms,
    /// Whether each page is relevant, if it counts.
    pub labels: Vec<Option<bool>>,
}

/// A corpus, read.
pub struct ReadCorpus {
    pub corpus: Corpus,
    pub readings: Vec<PageWords>,
    pub wanted: Vec<Wanted>,
    pub words: Words,
}

/// Reads the corpus and the term files; `change` is applied to the corpus before its words are read.
///
/// # Errors
/// The file with its line, or a topic that the corpus lacks.
pub fn read(args: &FocusCorpusArgs, change: impl FnOnce(&mut Corpus)) -> Result<ReadCorpus, Failure> {
    let topics = args.terms.iter().map(|path| Ok((path, read_topic(path)?)));
    let topics = topics.collect::<Result<Vec<_>, Failure>>()?;
    let named: Vec<(String, String)> =
        topics.iter().map(|(path, _)| named(path, args)).collect::<Result<_, _>>()?;
    let mut corpus = open(&args.corpus)?;
    change(&mut corpus);
    if args.hide_urls {
        corpus.hide_urls();
    }
    let mut words = Words::new();
    let readings = web::readings(&corpus, args.hide_urls, &mut words);
    let mut wanted = vec![];
    for ((_, topic), (genre, subject)) in topics.into_iter().zip(named) {
        let labels = corpus.labels(&genre, &subject);
        if !labels.contains(&Some(true)) {
            return Err(Failure::Usage(missing(&corpus, &genre, &subject)));
        }
        let mut terms = Terms::new(topic, &mut words);
        if args.idf == Idf::Counted {
            terms = terms.weighted(&readings);
        }
        wanted.push(Wanted { name: format!("{genre} x {subject}"), terms, labels });
    }
    Ok(ReadCorpus { corpus, readings, wanted, words })
}

/// Genre and topic: those given, or by the name of the term file.
fn named(path: &Path, args: &FocusCorpusArgs) -> Result<(String, String), Failure> {
    if let (Some(genre), Some(topic)) = (&args.genre, &args.topic) {
        return Ok((genre.clone(), topic.clone()));
    }
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let (genre, topic) = stem.split_once('-').ok_or_else(|| {
        let file = path.display();
        Failure::Usage(format!("{file}: not named GENRE-TOPIC.toml (rename it, or give --genre and --topic)"))
    })?;
    Ok((genre.into(), topic.into()))
}

/// Why nothing is relevant.
fn missing(corpus: &Corpus, genre: &str, topic: &str) -> String {
    let mut genres: Vec<&str> = corpus.genres().into_keys().collect();
    genres.sort_unstable();
    if !genres.contains(&genre) {
        return format!("no page has the genre `{genre}` (the corpus has {})", genres.join(", "));
    }
    match corpus.has_topic(topic) {
        true => format!("no page has the genre `{genre}` on a site about `{topic}`"),
        false => format!("no site has the topic `{topic}` (sites.tsv lists the topics of each)"),
    }
}

/// Reads the four parts of a corpus.
fn open(folder: &Path) -> Result<Corpus, Failure> {
    let mut corpus = Corpus::default();
    for (name, read) in PARTS {
        part(folder, name, &mut corpus, read)?;
    }
    Ok(corpus)
}

/// Reads a part: plain, or packed with gzip or zstd.
fn part(folder: &Path, name: &str, corpus: &mut Corpus, read: ReadPart) -> Result<(), Failure> {
    let packed = ["", ".gz", ".zst"].map(|ending| folder.join(format!("{name}{ending}")));
    let path = packed.iter().find(|path| path.is_file()).ok_or_else(|| {
        Failure::Usage(format!("{}: no {name}, {name}.gz or {name}.zst (name a corpus)", folder.display()))
    })?;
    let failed = |cause: &dyn std::fmt::Display| Failure::Usage(format!("{}: {cause}", path.display()));
    let file = BufReader::new(File::open(path).map_err(|e| failed(&e))?);
    let unpacked: Box<dyn BufRead> = match path.extension().and_then(|ending| ending.to_str()) {
        Some("gz") => Box::new(BufReader::new(flate2::bufread::MultiGzDecoder::new(file))),
        Some("zst") => Box::new(BufReader::new(zstd::Decoder::with_buffer(file).map_err(|e| failed(&e))?)),
        _ => Box::new(file),
    };
    read(unpacked, corpus).map_err(|e| failed(&e))
}

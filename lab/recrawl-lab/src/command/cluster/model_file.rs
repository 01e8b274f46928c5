//! The file of a model, with what it was fitted to.

use recrawl_clusters::model::{ClusterModel, ClusterModelError, MODEL_VERSION};
use recrawl_crawl::failure::Failure;
use recrawl_crawl::output::folder_of;
use recrawl_simulation::Dataset;
use recrawl_types::Size;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Maximum bytes of a model file.
const MAX_MODEL_BYTES: u64 = 8 << 20;

/// A model, and what it was fitted to.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelFile {
    /// Name of the data set.
    pub data: String,
    /// Digest of the data set.
    pub digest: String,
    /// Digest of the numbers of words, if contents were read.
    pub digest_of_words: Option<String>,
    /// Cycle whose pages were clustered.
    pub cycle: u32,
    /// Day of the fit, YYYY-MM-DD.
    pub date: String,
    pub random_seed: u64,
    /// Mean cosine of the pages of each cluster to its centroid.
    pub closeness: Vec<f64>,
    pub model: ClusterModel,
}

impl ModelFile {
    /// Checks that a model can be written there.
    ///
    /// # Errors
    /// When the file exists and is not to be overwritten, or there is no such folder.
    pub fn check_target(path: &Path, force: bool) -> Result<(), Failure> {
        let at = path.display();
        if path.is_dir() {
            return Err(Failure::Usage(format!("--out {at}: is a folder")));
        }
        if path.exists() && !force {
            return Err(Failure::Usage(format!("--out {at} exists; pass --force to overwrite it")));
        }
        match path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.is_dir()) {
            Some(folder) => Err(Failure::Usage(format!("--out {at}: no such folder {}", folder.display()))),
            None => Ok(()),
        }
    }

    /// Writes the model atomically.
    ///
    /// # Errors
    /// Those of [`check_target`](ModelFile::check_target), and when the file cannot be written or would be too large
    /// to be read back.
    pub fn write(&self, path: &Path, force: bool) -> Result<(), Failure> {
        let text = toml::to_string(self).map_err(Failure::work)?;
        let at = path.display();
        if text.len() as u64 > MAX_MODEL_BYTES {
            let (size, most) = (Size(text.len() as u64).rounded_up(), Size(MAX_MODEL_BYTES));
            let why = format!("{at}: a model of {size}, more than the limit of {most}: use fewer --clusters");
            return Err(Failure::Usage(why));
        }
        ModelFile::check_target(path, force)?;
        let folder = folder_of(path);
        let written = || -> io::Result<()> {
            // As of any new file, less the umask; a temporary file would be readable by its owner alone.
            let permissions = fs::Permissions::from_mode(0o666);
            let mut file = tempfile::Builder::new().permissions(permissions).tempfile_in(folder)?;
            file.write_all(text.as_bytes())?;
            file.as_file().sync_all()?;
            match force {
                true => file.persist(path)?,
                false => file.persist_noclobber(path)?,
            };
            Ok(())
        };
        written().map_err(|e| Failure::Work(format!("cannot write {at}: {e}")))
    }

    /// Reads a model and checks it.
    ///
    /// # Errors
    /// When there is no such file, or it has no model of this version.
    pub fn read(path: &Path) -> Result<ModelFile, Failure> {
        let at = path.display();
        let file = fs::File::open(path).map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => {
                Failure::Usage(format!("{at}: no such file; recrawl-lab cluster fit writes one"))
            }
            _ => Failure::Work(format!("cannot read {at}: {e}")),
        })?;
        let mut bytes = Vec::new();
        let read = file.take(MAX_MODEL_BYTES + 1).read_to_end(&mut bytes);
        read.map_err(|e| Failure::Work(format!("cannot read {at}: {e}")))?;
        ModelFile::parse(&bytes).map_err(|why| Failure::Usage(format!("{at}: {why}")))
    }

    fn parse(bytes: &[u8]) -> Result<ModelFile, String> {
        if bytes.len() as u64 > MAX_MODEL_BYTES {
            return Err(format!("not a model of clusters: over {}", Size(MAX_MODEL_BYTES)));
        }
        let text = str::from_utf8(bytes).map_err(|_| "not a model of clusters: no UTF-8 text".to_owned())?;
        let other = |error: toml::de::Error| format!("not a model of clusters: {}", error.message());
        let table: toml::Table = toml::from_str(text).map_err(other)?;
        // A model of another version may have other keys, so its version is checked first.
        let version = table.get("model").and_then(|model| model.get("version")).and_then(|v| v.as_integer());
        match version.and_then(|version| u32::try_from(version).ok()) {
            None => return Err("not a model of clusters: it has no version of a model".to_owned()),
            Some(MODEL_VERSION) => {}
            Some(version) => return Err(ClusterModelError::Version(version).to_string()),
        }
        let file: ModelFile = toml::from_str(text).map_err(|error| error.message().to_owned())?;
        let is_cosine = |closeness: &f64| (-1.0..=1.0 + 1e-6).contains(closeness);
        if file.closeness.len() != file.model.clusters() || !file.closeness.iter().all(is_cosine) {
            return Err("damaged model: there is not one closeness for each cluster; fit it again".to_owned());
        }
        Ok(file)
    }

    /// Checks that the model was fitted to this data set: it names words by their numbers there.
    ///
    /// # Errors
    /// When it was not.
    pub fn check_data(&self, path: &Path, data: &Dataset) -> Result<(), Failure> {
        let words = data.contents.as_ref().map(|contents| contents.digest_of_words());
        let is_of_words = self.digest_of_words.is_none() || self.digest_of_words == words;
        let digest = data.digest();
        let path = path.display();
        Err(Failure::Usage(match (self.digest == digest, is_of_words) {
            (true, true) => return Ok(()),
            (true, false) => {
                format!(
                    "{path}: fitted to {} with other contents than {} has: fit it again",
                    self.data, data.name
                )
            }
            (false, _) => format!(
                "{path}: fitted to other data ({}, digest {}), not to {} (digest {digest}): fit it again",
                self.data, self.digest, data.name
            ),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_clusters::features::FeatureBlock;
    use recrawl_generator::{Recipe, generate};
    use recrawl_rivals::page_clusters::{FitOptions, PagesOfCycle, fit};

    fn file() -> ModelFile {
        let data = generate(&Recipe { pages: 60, sites: 6, cycles: 5, ..Recipe::named("default").unwrap() })
            .unwrap();
        let blocks = [FeatureBlock::UrlWords, FeatureBlock::Url].into();
        let options = FitOptions { blocks, clusters: Some(4), seed: 3, threads: 1 };
        let fitted = fit(&data, &PagesOfCycle::in_cycle(&data, 5), &options).unwrap();
        ModelFile {
            data: data.name.clone(),
            digest: data.digest(),
            digest_of_words: None,
            cycle: 5,
            date: "2026-01-31".into(),
            random_seed: 3,
            closeness: fitted.closeness,
            model: fitted.model,
        }
    }

    #[test]
    fn a_model_is_read_back_and_nothing_is_overwritten_unasked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.toml");
        let file = file();
        file.write(&path, false).unwrap();
        assert_eq!(ModelFile::read(&path).unwrap(), file);
        let refused = file.write(&path, false).unwrap_err();
        assert!(refused.is_usage() && refused.to_string().contains("--force"), "{refused}");
        file.write(&path, true).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_is_no_model_is_refused_with_a_reason() {
        let text = toml::to_string(&file()).unwrap();
        assert!(ModelFile::parse(text.as_bytes()).is_ok());
        let edited = |from: &str, to: &str| {
            assert!(text.contains(from), "{from}");
            ModelFile::parse(text.replacen(from, to, 1).as_bytes()).unwrap_err()
        };
        for (why, says) in [
            (ModelFile::parse(b"a = [").unwrap_err(), "not a model"),
            (ModelFile::parse(b"name = 'nad'").unwrap_err(), "no version"),
            (ModelFile::parse(&[0xff, 0xfe]).unwrap_err(), "UTF-8"),
            (ModelFile::parse(&vec![b'#'; MAX_MODEL_BYTES as usize + 1]).unwrap_err(), "over 8 MiB"),
            (edited("version = 1", "version = 2\nnew = true"), "model of version 2, but this is version 1"),
            (edited("\"slashes\"", "\"depth\""), "not `slashes`"),
            (edited("closeness = [", "closeness = [0.5, "), "not one closeness"),
            (edited("cycle = 5", "cycle = 5\ncolour = 1"), "colour"),
        ] {
            assert!(why.contains(says) && why.len() < 300, "{why}");
        }
    }
}

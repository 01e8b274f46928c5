//! `recrawl config`: checks or prints a configuration.

use super::{print, print_json, promises};
use crate::cli::{ConfigCommand, HERE, load};
use crate::notifier;
use crate::tokens::tokens_of;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::parts::notify::warning;
use recrawl_crawl::parts::{convert, render};
use recrawl_crawl::settings::{SecretUse, Settings, formula_file};
use recrawl_crawl::vault;
use recrawl_formula::Formula;
use serde_json::json;
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::Path;

/// The configuration to start from.
const STARTING: &str = include_str!("../../../../config/starting.toml");

pub fn run(command: &ConfigCommand) -> Result<(), Failure> {
    match command {
        ConfigCommand::Init { file } => init(file),
        ConfigCommand::Check(on) => {
            let file = on.at.config.file();
            let settings = load(file.as_deref(), on.at.data_dir.as_deref(), SecretUse::Read)?;
            // Checked as the daemon does at its start.
            tokens_of(&settings)?;
            notifier::check(&settings)?;
            render::renderer(&settings.pages, &settings.config)?;
            convert::check_programs(&settings.pages)?;
            promises::check(&settings)?;
            vault::check(&settings)?;
            let formula = formula_file::in_force(&settings)?;
            let warnings = [warning(&settings.config), settings.importance_is_idle(&formula)];
            let warnings: Vec<String> = warnings.into_iter().flatten().collect();
            if on.json {
                let warning = (!warnings.is_empty()).then(|| warnings.join("; "));
                let (name, file_of_it) = (&formula.name, formula_file::of_data_dir(&settings));
                let formula =
                    json!({"name": name, "expression": formula.expr.to_string(), "file": file_of_it});
                return print_json(
                    &json!({"file": file, "ok": true, "formula": formula, "warning": warning}),
                );
            }
            print(format!("formula: {}", in_force(&settings, &formula)))?;
            warnings.iter().try_for_each(|warning| print(format!("warning: {warning}")))?;
            match file {
                Some(file) => print(format!("{}: ok", file.display())),
                None => print("built-in defaults: ok"),
            }
        }
        ConfigCommand::Show { config, json } => {
            let settings = load(config.file().as_deref(), None, SecretUse::Read)?;
            if *json {
                print_json(&settings.config)
            } else {
                print(toml::to_string_pretty(&settings.config).map_err(Failure::work)?.trim_end())
            }
        }
    }
}

/// The formula in force, and who chose it.
fn in_force(settings: &Settings, formula: &Formula) -> String {
    if let Some(idle) = settings.formula_is_idle() {
        return format!("none: {idle}");
    }
    match formula_file::of_data_dir(settings) {
        None => format!("{}, by the configuration", formula.name),
        Some(file) => format!(
            "{}, by `recrawl formula use` ({}); {}, by the configuration, is not in force",
            formula.name,
            file.display(),
            settings.formula.name
        ),
    }
}

/// Writes the configuration to start from into a new file.
fn init(file: &Path) -> Result<(), Failure> {
    let name = file.display();
    let written = File::create_new(file).and_then(|mut file| file.write_all(STARTING.as_bytes()));
    written.map_err(|e| match e.kind() {
        ErrorKind::AlreadyExists => Failure::Usage(format!("{name}: exists; name a new file")),
        _ => Failure::Work(format!("cannot write {name}: {e}")),
    })?;
    print(format!("{name}: written; set crawler.contact and run `recrawl config check --config {name}`"))?;
    print(match file == Path::new(HERE) {
        true => {
            "the commands that you run in this folder use it, such as `recrawl crawl` and `recrawl serve`"
                .into()
        }
        false => format!("then pass `--config {name}` to each command, or set RECRAWL_CONFIG={name}"),
    })
}

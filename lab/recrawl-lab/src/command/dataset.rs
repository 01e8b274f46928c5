//! `recrawl-lab dataset`: generates recorded histories of pages.

use crate::cli::{DataStudy, GenerateArgs};
use recrawl_contest::failure_of_data as failure;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::labels::counted;
use recrawl_generator::{Recipe, generate};
use recrawl_generator::{RelatedRecipe, related_web};
use recrawl_simulation::format;
use recrawl_terminal::print;

/// Pages of a web whose pages follow each other: ten topics of 24.
const RELATED_PAGES: u32 = 240;
const RELATED_CYCLES: u32 = 150;

pub fn run(command: &DataStudy) -> Result<(), Failure> {
    let DataStudy::Generate(args) = command;
    format::check_target(&args.to, &args.format).map_err(failure)?;
    match RelatedRecipe::named(&args.preset) {
        Some(recipe) => generate_related(args, &recipe),
        None => generate_changes(args),
    }
}

/// Pages with texts that follow each other.
fn generate_related(args: &GenerateArgs, recipe: &RelatedRecipe) -> Result<(), Failure> {
    let GenerateArgs { to, preset, .. } = args;
    let changed = [
        args.sites.is_some(),
        args.folder_bursts.is_some(),
        args.signal_precision.is_some(),
        args.format != "native",
    ];
    if changed.contains(&true) {
        let text =
            format!("--preset {preset} has no sites, bursts of folders, signals or other formats to choose");
        return Err(Failure::Usage(text));
    }
    let (pages, cycles) = (args.pages.unwrap_or(RELATED_PAGES), args.cycles.unwrap_or(RELATED_CYCLES));
    let web = related_web(recipe, pages, cycles, args.random_seed).map_err(Failure::usage)?;
    web.create(to).map_err(failure)?;
    let planted = counted(web.experts.len() as u64, "planted relation");
    print(format!("{}: {pages} pages with texts, cycles 0 to {cycles}, {planted}", to.display()))
}

/// Pages of which only the changes are known.
fn generate_changes(args: &GenerateArgs) -> Result<(), Failure> {
    let mut recipe = Recipe::named(&args.preset).map_err(|error| {
        let related = RelatedRecipe::PRESETS.map(|preset| preset.name);
        Failure::Usage(format!("{error}, {}", related.join(", ")))
    })?;
    if let Some(pages) = args.pages {
        recipe.resize(pages);
    }
    recipe.sites = args.sites.unwrap_or(recipe.sites);
    recipe.cycles = args.cycles.unwrap_or(recipe.cycles);
    if args.folder_bursts.is_some_and(|share| share <= 0.0 || share.is_nan()) {
        let text = "--folder-bursts: use a share above 0, at most 1, or leave it out";
        return Err(Failure::Usage(text.into()));
    }
    recipe.folder_bursts = args.folder_bursts.unwrap_or(recipe.folder_bursts);
    recipe.signal_precision = args.signal_precision.unwrap_or(recipe.signal_precision);
    recipe.signal_recall = args.signal_recall.unwrap_or(recipe.signal_recall);
    recipe.seed = args.random_seed;
    let data = generate(&recipe).map_err(Failure::usage)?;
    let losses = format::create(&data, &args.to, &args.format).map_err(failure)?;
    let pages = counted(data.pages.len() as u64, "page");
    let (to, cycles) = (args.to.display(), data.truth.cycles());
    print(format!("{to}: {pages}, cycles 0 to {cycles}, format {}", args.format))?;
    losses.iter().try_for_each(|loss| print(format!("lost in this format: {loss}")))
}

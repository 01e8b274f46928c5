//! Command-line arguments.

mod cluster;
mod dataset;
mod focus;
mod predict;
mod simulate;

pub use cluster::{ClusterCount, ClusterDataArgs, ClusterFitArgs, ClusterReportArgs, ClusterStudy};
pub use dataset::{DataStudy, GenerateArgs};
pub use focus::{
    Anchors, FocusCorpusArgs, FocusReplayArgs, FocusScoreArgs, FocusStudy, FocusTermsArgs, FocusTrainArgs,
    GenerateBy, Idf, Lower, ParentsArg, TiesArg,
};
pub use predict::PredictArgs;
pub use simulate::ContestArgs;

use clap::{Parser, Subcommand};
use recrawl_terminal::OutputArgs;
use std::path::PathBuf;

/// The laboratory of recrawl: studies on recorded and generated data.
#[derive(Parser)]
#[command(name = "recrawl-lab", version, about, max_term_width = 100)]
#[command(
    after_help = "Exit codes: 0 success; 1 failure while working; 2 wrong arguments or data, nothing was \
                  changed.\nLogs go to standard error; RECRAWL_LOG sets a filter by part of the program.\nThe crawler \
                  is the program recrawl."
)]
pub struct Lab {
    #[command(subcommand)]
    pub command: LabCommand,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Subcommands.
#[derive(Subcommand)]
pub enum LabCommand {
    /// Predict recorded changes of pages from related pages, and measure how well
    #[command(
        after_help = "Examples:\n  recrawl-lab predict --data data/pages\n  recrawl-lab predict --data data/pages --change words:20 \
                      --alpha pages:50 --setting 2d,3d --experts experts,union --related correlation,dtw --every 4 --json"
    )]
    Predict(PredictArgs),
    /// Replay policies of crawls, crawlers and papers over a recorded history and compare them
    #[command(
        after_help = "Policies: those of recrawl simulate; lambda_crawl binary_lambda_crawl binary_lambda_crawl_04 nutch \
                      stormcrawler common_crawl thompson (competitors); rr freq sls db lb (compared with clusters); cls_nad \
                      cls_sad cls_aad cls_gad cls_threshold (clusters by features; these and lb need the contents of pages \
                      and must be named); bayes_greedy (bound).\n\nExample:\n  \
                      recrawl-lab simulate --data data/pages --policy nutch --policy p_gamma --policy cls_sad"
    )]
    Simulate(ContestArgs),
    /// Generate data sets of page changes
    #[command(
        subcommand,
        after_help = "Example:\n  recrawl-lab dataset generate data/brdc12 --preset brdc12"
    )]
    Dataset(DataStudy),
    /// Fit, show and compare clusters of pages by features
    #[command(
        subcommand,
        after_help = "Example:\n  recrawl-lab cluster fit --data data/pages --out clusters.toml\n  \
                      recrawl-lab cluster show clusters.toml"
    )]
    Cluster(ClusterStudy),
    /// Find pages of a genre and a content: scores, terms, classifiers, replays of focused crawls
    #[command(
        subcommand,
        after_help = "Examples:\n  recrawl-lab focus score --terms topic.toml page.html\n  \
                      recrawl-lab focus replay data/syllabi --terms syllabus-statistics.toml --seeds 10"
    )]
    Focus(FocusStudy),
    /// Print a shell completion script
    #[command(
        after_help = "Example:\n  recrawl-lab completions bash > ~/.local/share/bash-completion/completions/recrawl-lab"
    )]
    Completions {
        /// Shell
        shell: clap_complete::Shell,
    },
    /// Write manual pages, one per command, into a folder
    #[command(after_help = "Example:\n  recrawl-lab man ~/.local/share/man/man1")]
    Man {
        /// Target folder; created if missing
        out: PathBuf,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_rivals_of_a_simulation_are_listed() {
        let lab = Lab::command();
        let help = lab.find_subcommand("simulate").unwrap().get_after_help().unwrap().to_string();
        let listed: Vec<&str> = help.lines().next().unwrap().split([' ', ';', '.']).collect();
        for kind in recrawl_rivals::policy::ALL {
            assert!(listed.contains(&kind.name), "{} is not listed", kind.name);
        }
    }

    #[test]
    fn every_command_has_an_example_completions_and_a_manual_page() {
        assert_eq!(recrawl_terminal::help::gaps(&Lab::command()), [] as [&str; 0]);
    }
}

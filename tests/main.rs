//! The program under test, as its users meet it: the real binary, a mock web on loopback, a data directory
//! of its own for each test.
//!
//! One binary for all, since each costs a link. A new behaviour is a module; try not to add more.

mod daemon;
mod harness;
/// Networks of a test's own.
mod network;
/// A store that can be killed.
mod weed;

/// What is sent to single hosts, and through which proxy.
mod access;
/// The API beside its own description, from the moment the port opens.
mod api;
/// Archived versions in the API: what `recrawl show` reads, and no more.
mod archived;
/// Which differences are changes, and what is told of them.
mod changed;
/// The Helm chart and the manifest for people without Helm.
mod chart;
/// Words, exit codes, and one-line errors.
mod cli;
/// What owners want: a page's wishes, hosts that opted out, whom to turn to.
mod consent;
/// Commands beside a daemon: through its control socket, as without it.
mod control;
/// Documents that a command converts.
mod converting;
/// kill -9 at any moment, and a clean stop: nothing lost, nothing twice.
mod crash;
/// Whole crawls: discovery, warm-up, budget, counters against the mock web's own count.
mod cycle;
/// Histories of pages: made up, converted, shown.
mod dataset;
/// Copies of pages that targets hold: in step, whatever happens to them and to the program.
mod delivering;
/// What deploy/ holds fits the program.
mod deploy;
/// Pages that send a visitor without a cookie elsewhere, and take him back with one.
mod detours;
/// Names: how long answers are kept, and names that change their mind.
mod dns;
/// What the manual says to type.
mod docs;
/// Encodings, embedded documents and refreshes: the links that browsers find.
mod documents;
/// What a data directory keeps: through older versions, lost files, power cuts and flipped bits.
mod durable;
/// The stream of events: where it goes, how its files follow each other, who waits for whom.
mod events;
/// What stops a page, gate by gate.
mod explain;
/// Nobody is left out for ever, and the slow keep nobody waiting.
mod fairness;
/// What a new user sets: a configuration to start from, the environment, colours, the log.
mod first_steps;
mod fleet;
/// Addresses that partitions of a fleet share.
mod fleet_addresses;
/// Changes by operators, which all its processes make.
mod fleet_changes;
/// It shrinks, and goes back to one machine.
mod fleet_leaves;
/// A fleet whose machines are cut off from their store, or whose store is killed.
mod fleet_network;
/// Pages that other partitions have, at any console and by commands.
mod fleet_questions;
/// Term files of focused crawls.
mod focus;
/// Focused crawls: relevant pages first, the same plan after a kill, and nothing of it without the key.
mod focused_crawl;
/// What the Web does to crawlers: each hazard ends, is told right, and costs nobody else anything.
mod hazards;
/// Sitemaps and feeds: every format found, hostile ones survived, dates believed as far as they deserve.
mod hints;
/// HTTP as operators meet it: validators that lie, what fetching may cost.
mod http;
/// What others knew of pages: lists and indexes become known.
mod import;
/// A crawl that measures itself, for a better formula.
mod improve;
/// Its loop, as the console tells and changes it: step by step, and by commands beside the daemon.
mod improve_loop;
/// A formula from recorded changes: what is written, refused, stopped and resumed.
mod learn;
/// What it says of its work: whole lines, in a form that programs read, and never waiting for a reader.
mod logs;
/// Which media types are in scope.
mod media_types;
/// Not looked at is never gone: what a failed or skipped visit leaves alone.
mod not_gone;
/// Notifications: each change told at least once, by ids exactly once.
mod notifications;
/// What revisits are for: by default, by an objective, by a formula.
mod objective;
/// What other programs read: Parquet, the index of the archive, events.
mod outputs;
/// What part of a page counts: rules, their changes, and what is shown of a page.
mod page_rules;
/// Pings: whose are taken, and which are obeyed.
mod pings;
/// What the web's owners see: robots.txt, delays, refused addresses.
mod politeness;
/// Promises to visit pages in time: kept, counted, and refused by the limit that binds.
mod promises;
/// What a rule keeps out takes no place of a cycle, and comes back with the rule.
mod refused;
/// Pages made by script, where no browser is started.
mod rendering;
/// What operators do with a repository: look at it, copy it, save what damage has left.
mod repository;
/// Requisites of pages: asked for by the rules of pages, archived beside them, shown with them.
mod requisites;
/// Rounds of a cycle: fill, urgent, carried.
mod rounds;
/// The full-text index: in step, searched, through damage, kills and a full disk.
mod searching;
mod serve;
/// Siblings that change together.
mod siblings;
/// Policies replayed over a recorded history.
mod simulate;
/// What site owners are told: requests, gaps, delays, robots.txt, beside the web's log.
mod site_owner;
/// Formulas that read the rates of sites.
mod sites;
/// What is told of a crawl: at rest, beside a daemon, and where something is broken.
mod status;
mod strangers;
/// What is removed at somebody's request: from records, visits and archive, for good.
mod takedown;
/// What strangers send, shown to people.
mod terminal;
/// What a collector of traces is told.
mod traces;
mod traps;
/// Bad disks, other versions, a directory in use.
mod trouble;
/// A real server of documents: exact after kills of both sides and lost answers.
mod typesense;
/// A loop that nobody looks after: killed, out of disk.
mod unattended;
/// A disk that burns: the crawl goes on from its vault alone.
mod vault;
/// What is exported of visits, and how long they are kept.
mod visits;
/// The archive as one file that a browser replays.
mod wacz;
/// Pages that are shown, watched and told of.
mod watch;
/// Subscriptions to feeds at their hub.
mod websub;

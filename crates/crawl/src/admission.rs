//! Admission of requests: scope, opt-outs, takedowns, blocks, page directives.

pub mod address_block;
pub mod blocks;
pub mod consent;
pub mod decisions;
pub mod filters;
pub mod gates;
pub mod glob;
pub mod loading;
pub mod named_host;
pub mod opt_out;
pub mod pattern;
pub mod scope;

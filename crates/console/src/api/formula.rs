//! Formulas: list them, check one, and compare its ranking.

use super::read::JsonBody;
use crate::console::Console;
use crate::problem::Problem;
use crate::view::{FormulaCheck, Formulas, RankChanges};
use axum::Json;
use axum::extract::State;
use recrawl_types::Size;
use serde::Deserialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// Maximum bytes of a formula, equal to the limit of formula files.
pub const MAX_FORMULA_BYTES: usize = 64 << 10;

/// Formula to check, compare or use.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FormulaSent {
    /// A name, an expression, or the text of a formula file.
    #[schema(max_length = 65536)]
    text: String,
}

impl FormulaSent {
    /// The text, if it is short enough for the change log.
    pub fn text(self) -> Result<String, Problem> {
        match self.text.len() <= MAX_FORMULA_BYTES {
            true => Ok(self.text),
            false => Err(Problem::invalid(
                "text",
                format!("longer than {}", Size(MAX_FORMULA_BYTES as u64)),
                "shorten the formula",
            )),
        }
    }
}

/// Formulas: in force, next, previous and built-in.
#[utoipa::path(get, path = "/api/v1/formulas", tag = "formulas",
    responses((status = 200, description = "Formulas", body = Formulas)))]
pub async fn formulas(State(console): State<Arc<Console>>) -> Result<Json<Formulas>, Problem> {
    console.ask(|view| view.formulas()).await.map(Json)
}

/// Check a formula: terminals, cost, warnings. Changes nothing.
#[utoipa::path(post, path = "/api/v1/formulas/check", tag = "formulas", request_body = FormulaSent,
    responses((status = 200, description = "Valid formula", body = FormulaCheck)))]
pub async fn check(
    State(console): State<Arc<Console>>,
    JsonBody(formula): JsonBody<FormulaSent>,
) -> Result<Json<FormulaCheck>, Problem> {
    let text = formula.text()?;
    console.ask(move |view| view.check_formula(&text)).await.map(Json)
}

/// Compare the ranking of a formula with the one in force. Changes nothing.
///
/// Only one comparison runs at a time, because it scores all pages.
#[utoipa::path(post, path = "/api/v1/formulas/compare", tag = "formulas", request_body = FormulaSent,
    responses((status = 200, description = "Ranking differences", body = RankChanges)))]
pub async fn compare(
    State(console): State<Arc<Console>>,
    JsonBody(formula): JsonBody<FormulaSent>,
) -> Result<Json<RankChanges>, Problem> {
    let text = formula.text()?;
    console.ask_slow(move |view| view.rank_changes(&text)).await.map(Json)
}

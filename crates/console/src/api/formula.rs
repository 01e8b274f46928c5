//! Formulas: those there are, what one would cost, and where it would rank otherwise.

use super::read::Sent;
use crate::console::Console;
use crate::problem::Problem;
use crate::view::{FormulaCheck, Formulas, RankChanges};
use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// Bytes of a formula: as many as a formula file may have.
pub const MAX_FORMULA_BYTES: usize = 64 << 10;

/// A formula, as it is sent.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FormulaSent {
    /// A name, an expression, or the text of a formula file.
    #[schema(max_length = 65536)]
    text: String,
}

impl FormulaSent {
    /// Checked: the crawl's log of changes keeps it.
    pub fn text(self) -> Result<String, Problem> {
        match self.text.len() <= MAX_FORMULA_BYTES {
            true => Ok(self.text),
            false => Err(Problem::invalid(
                "text",
                format!("longer than {MAX_FORMULA_BYTES} bytes"),
                "send a formula",
            )),
        }
    }
}

/// The formula in force, the next one, those before, and the built-in ones.
#[utoipa::path(get, path = "/api/v1/formulas", tag = "formulas",
    responses((status = 200, description = "Formulas", body = Formulas)))]
pub async fn formulas(State(console): State<Arc<Console>>) -> Result<Json<Formulas>, Problem> {
    console.ask(|view| view.formulas()).await.map(Json)
}

/// What a formula uses and costs, and what to beware of. Changes nothing.
#[utoipa::path(post, path = "/api/v1/formulas/check", tag = "formulas", request_body = FormulaSent,
    responses((status = 200, description = "It is a formula", body = FormulaCheck)))]
pub async fn check(
    State(console): State<Arc<Console>>,
    Sent(formula): Sent<FormulaSent>,
) -> Result<Json<FormulaCheck>, Problem> {
    let text = formula.text()?;
    console.ask(move |view| view.check_formula(&text)).await.map(Json)
}

/// Where a formula would rank pages otherwise than the one in force. Changes nothing.
///
/// One comparison runs at a time, since each scores all pages.
#[utoipa::path(post, path = "/api/v1/formulas/compare", tag = "formulas", request_body = FormulaSent,
    responses((status = 200, description = "The differences", body = RankChanges)))]
pub async fn compare(
    State(console): State<Arc<Console>>,
    Sent(formula): Sent<FormulaSent>,
) -> Result<Json<RankChanges>, Problem> {
    let text = formula.text()?;
    console.ask_much(move |view| view.rank_changes(&text)).await.map(Json)
}

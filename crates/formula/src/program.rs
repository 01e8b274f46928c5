//! Expressions as flat programs over columns.

mod compile;

use crate::kernel::{Kernel, Operand};
use crate::{Basis, Expr, Protection, Tile};
use recrawl_types::{Cycle, Reads, StateColumns};

/// An expression compiled for one protection and one basis: a list of steps, each over a whole tile
/// of rows. Equal subexpressions are computed once, and constants in advance. No step branches
/// or loops, so the cost of every page is the number of steps.
#[derive(Clone, Debug)]
pub struct Program {
    steps: Vec<ProgramStep>,
    /// The score of every page, if it is constant; then there are no steps.
    constant: Option<f64>,
    registers: usize,
    basis: Basis,
    reads: Reads,
}

/// An operation and its output register, which is none of its input registers.
#[derive(Clone, Copy, Debug)]
struct ProgramStep {
    action: StackAction,
    out: usize,
}

#[derive(Clone, Copy, Debug)]
enum StackAction {
    Load(fn(&Tile<'_>, &mut [f64])),
    Call(Kernel, [ArgumentSource; 2]),
}

/// Location of an argument: a register, or a constant. The second argument of a unary function is
/// ignored.
#[derive(Clone, Copy, Debug)]
enum ArgumentSource {
    Register(usize),
    Constant(f64),
}

impl Program {
    /// Compiles an expression without simplifying it.
    pub fn compile(expr: &Expr, protection: Protection, basis: Basis) -> Program {
        compile::program(expr, protection, basis)
    }

    /// Steps per page: terminals and functions, with equal subexpressions counted once.
    pub fn cost(&self) -> usize {
        self.steps.len()
    }

    /// The fields that determine the score of a page. Pages with equal values, last visit and site
    /// rates have equal scores.
    pub fn reads(&self) -> Reads {
        self.reads
    }

    /// Scores every row of the block as of `cycle`: replaces `out` by one score per row. A page
    /// that was never visited scores NaN. Other rows may be NaN or infinite too, if the expression
    /// is.
    ///
    /// # Panics
    /// If the program reads rates of sites, sections or siblings and they are not filled in, or a column of signals is neither
    /// empty nor filled.
    pub fn evaluate(&self, columns: &StateColumns, cycle: Cycle, out: &mut Vec<f64>) {
        let filled = [
            (Reads::SITE_RATE, "site_rate", &columns.site_rate),
            (Reads::SECTION, "section_rate", &columns.section_rate),
            (Reads::SIBLINGS, "sibling_rate", &columns.sibling_rate),
            (Reads::SIBLINGS, "burst", &columns.burst),
        ];
        for (_, name, column) in filled.into_iter().filter(|(reads, ..)| self.reads.contains(*reads)) {
            let (rows, pages) = (column.len(), columns.len());
            assert!(
                rows == pages,
                "the formula reads {name}, which the caller fills in: {rows} rows of {pages}"
            );
        }
        let rows = [columns.signals.len(), columns.signal_precision.len(), columns.signal_recall.len()];
        assert!(
            !self.reads.contains(Reads::SIGNALS)
                || rows.iter().all(|&rows| [0, columns.len()].contains(&rows)),
            "columns of signals are empty or have a row a page: they have {rows:?} rows, the block {}",
            columns.len()
        );
        out.resize(columns.len(), f64::NAN);
        let mut registers = vec![vec![0.0; Tile::MAX_ROWS.min(columns.len())]; self.registers];
        for (i, scores) in out.chunks_mut(Tile::MAX_ROWS).enumerate() {
            let start = i * Tile::MAX_ROWS;
            let rows = start..start + scores.len();
            let visited = &columns.visited[rows.clone()];
            // Most known URLs of a large crawl were never fetched, and they are contiguous.
            let any = visited.iter().fold(false, |any, &visited| any | visited);
            if !any {
                scores.fill(f64::NAN);
                continue;
            }
            let tile = Tile { columns, rows, cycle, basis: self.basis, model: Default::default() };
            self.run(&tile, &mut registers, scores);
            // Folds instead of searches, which stop early and so read byte by byte.
            if !visited.iter().fold(true, |all, &visited| all & visited) {
                for (score, &visited) in scores.iter_mut().zip(visited) {
                    *score = if visited { *score } else { f64::NAN };
                }
            }
        }
    }

    /// Runs the steps over one tile; the last one fills `scores`.
    fn run(&self, tile: &Tile<'_>, registers: &mut [Vec<f64>], scores: &mut [f64]) {
        let Some((last, steps)) = self.steps.split_last() else {
            return scores.fill(self.constant.expect("a program has steps or is a constant"));
        };
        for step in steps {
            // Taken out while it is written, so that the others can be read.
            let mut out = std::mem::take(&mut registers[step.out]);
            step.action.run(tile, registers, &mut out[..scores.len()]);
            registers[step.out] = out;
        }
        last.action.run(tile, registers, scores);
    }
}

impl StackAction {
    fn run(&self, tile: &Tile<'_>, registers: &[Vec<f64>], out: &mut [f64]) {
        let rows = out.len();
        let operand = |source: ArgumentSource| match source {
            ArgumentSource::Register(i) => Operand::Column(&registers[i][..rows]),
            ArgumentSource::Constant(value) => Operand::Constant(value),
        };
        match *self {
            StackAction::Load(load) => load(tile, out),
            StackAction::Call(Kernel::Unary(run), [x, _]) => match operand(x) {
                Operand::Column(x) => run(out, x),
                Operand::Constant(_) => unreachable!("functions of constants are computed beforehand"),
            },
            StackAction::Call(Kernel::Binary(run), [x, y]) => run(out, operand(x), operand(y)),
        }
    }
}

#[cfg(test)]
mod tests;

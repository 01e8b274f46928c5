//! Expressions as flat programs over columns.

use crate::function::Kernel;
use crate::{Basis, Expr, Protection, Tile};
use recrawl_types::{Cycle, Reads, StateColumns};

/// An expression compiled for one protection and one basis: a list of steps in postfix order, each over
/// a whole tile of rows. No step branches, loops or allocates, so the cost of a page is the number of
/// steps, whatever the page.
#[derive(Clone, Debug)]
pub struct Program {
    steps: Vec<Step>,
    registers: usize,
    basis: Basis,
    reads: Reads,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Constant(f64),
    Terminal(fn(&Tile<'_>, &mut [f64])),
    Call(Kernel),
}

impl Program {
    /// Compiles an expression as it stands, without simplifying it.
    pub fn compile(expr: &Expr, protection: Protection, basis: Basis) -> Program {
        let mut program =
            Program { steps: Vec::with_capacity(expr.nodes()), registers: 0, basis, reads: Reads::LAST };
        program.add(expr, protection, 1);
        program
    }

    /// Adds the steps of an expression whose result lands in register `result` (counted from 1).
    fn add(&mut self, expr: &Expr, protection: Protection, result: usize) {
        self.registers = self.registers.max(result);
        let step = match expr {
            Expr::Constant(value) => Step::Constant(*value),
            Expr::Terminal(terminal) => {
                self.reads = self.reads | (terminal.reads)(self.basis);
                Step::Terminal(terminal.load)
            }
            Expr::Call(function, arguments) => {
                for (i, argument) in arguments.iter().enumerate() {
                    self.add(argument, protection, result + i);
                }
                Step::Call((function.kernel)(protection))
            }
        };
        self.steps.push(step);
    }

    /// Steps per page.
    pub fn cost(&self) -> usize {
        self.steps.len()
    }

    /// What the score of a page depends on: pages that agree in this, in the cycle of their last visit
    /// and in the rates of their sites have the same score.
    pub fn reads(&self) -> Reads {
        self.reads
    }

    /// Scores every row of the block as of `cycle`, in `f64`: `out` is emptied and gets one score a
    /// row. A page that was never visited has no score: NaN. Other rows may be NaN or infinite too,
    /// where the expression is.
    ///
    /// # Panics
    /// When the program reads the rates of sites and they are not filled in.
    pub fn evaluate(&self, columns: &StateColumns, cycle: Cycle, out: &mut Vec<f64>) {
        assert!(
            !self.reads.contains(Reads::SITE_RATE) || columns.site_rate.len() == columns.len(),
            "the formula asks for the rates of sites, which the caller fills in: site_rate has {} rows, the block {}",
            columns.site_rate.len(),
            columns.len()
        );
        out.clear();
        out.resize(columns.len(), f64::NAN);
        let mut registers = vec![0.0; self.registers * Tile::MAX_ROWS.min(columns.len())];
        for (i, scores) in out.chunks_mut(Tile::MAX_ROWS).enumerate() {
            let start = i * Tile::MAX_ROWS;
            let rows = start..start + scores.len();
            let visited = &columns.visited[rows.clone()];
            // Most known URLs of a large crawl were never fetched, and those lie together.
            if !visited.contains(&true) {
                continue;
            }
            self.run(&Tile { columns, rows, cycle, basis: self.basis }, &mut registers);
            for ((score, &value), &visited) in scores.iter_mut().zip(&registers).zip(visited) {
                *score = if visited { value } else { f64::NAN };
            }
        }
    }

    /// Runs the steps over one tile; the result is in the first register.
    fn run(&self, tile: &Tile<'_>, registers: &mut [f64]) {
        let rows = tile.rows.len();
        let mut used = 0;
        for step in &self.steps {
            match step {
                Step::Constant(value) => registers[used..used + rows].fill(*value),
                Step::Terminal(load) => load(tile, &mut registers[used..used + rows]),
                Step::Call(Kernel::Unary(run)) => {
                    run(&mut registers[used - rows..used]);
                    continue;
                }
                Step::Call(Kernel::Binary(run)) => {
                    let (x, y) = registers[used - 2 * rows..used].split_at_mut(rows);
                    run(x, y);
                    used -= rows;
                    continue;
                }
            }
            used += rows;
        }
        debug_assert_eq!(used, rows, "a program leaves one value");
    }
}

#[cfg(test)]
mod tests;

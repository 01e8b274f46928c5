//! Expressions as flat programs over columns.

mod compile;

use crate::kernel::{Kernel, Operand};
use crate::{Basis, Expr, Protection, Tile};
use recrawl_types::{Cycle, Reads, StateColumns};

/// An expression compiled for one protection and one basis: a list of steps, each over a whole tile of
/// rows. Equal parts of the expression are computed once, and what is constant beforehand. No step branches,
/// loops or allocates, so the cost of a page is the number of steps, whatever the page.
#[derive(Clone, Debug)]
pub struct Program {
    steps: Vec<Step>,
    /// The score of every page, where it is the same for all; there are no steps then.
    constant: Option<f64>,
    registers: usize,
    basis: Basis,
    reads: Reads,
}

/// One operation, and the register that it fills, which is none of those that it reads.
#[derive(Clone, Copy, Debug)]
struct Step {
    action: Action,
    out: usize,
}

#[derive(Clone, Copy, Debug)]
enum Action {
    Load(fn(&Tile<'_>, &mut [f64])),
    Call(Kernel, [Source; 2]),
}

/// Where an argument is found: in a register, or here. The second of a function of one is not looked at.
#[derive(Clone, Copy, Debug)]
enum Source {
    Register(usize),
    Constant(f64),
}

impl Program {
    /// Compiles an expression as it stands, without simplifying it.
    pub fn compile(expr: &Expr, protection: Protection, basis: Basis) -> Program {
        compile::program(expr, protection, basis)
    }

    /// Steps per page: terminals and functions, of equal parts of the expression only one.
    pub fn cost(&self) -> usize {
        self.steps.len()
    }

    /// What the score of a page depends on: pages that agree in this, in the cycle of their last visit
    /// and in the rates of their sites have the same score.
    pub fn reads(&self) -> Reads {
        self.reads
    }

    /// Scores every row of the block as of `cycle`, in `f64`: `out` gets one score a row, and
    /// nothing else. A page that was never visited has no score: NaN. Other rows may be NaN or infinite too,
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
        out.resize(columns.len(), f64::NAN);
        let mut registers = vec![vec![0.0; Tile::MAX_ROWS.min(columns.len())]; self.registers];
        for (i, scores) in out.chunks_mut(Tile::MAX_ROWS).enumerate() {
            let start = i * Tile::MAX_ROWS;
            let rows = start..start + scores.len();
            let visited = &columns.visited[rows.clone()];
            // Most known URLs of a large crawl were never fetched, and those lie together.
            let any = visited.iter().fold(false, |any, &visited| any | visited);
            if !any {
                scores.fill(f64::NAN);
                continue;
            }
            self.run(&Tile { columns, rows, cycle, basis: self.basis }, &mut registers, scores);
            // Folds, not searches: those stop early, and so go byte by byte.
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
            // Taken out for as long as it is written, so that the others can be read.
            let mut out = std::mem::take(&mut registers[step.out]);
            step.action.run(tile, registers, &mut out[..scores.len()]);
            registers[step.out] = out;
        }
        last.action.run(tile, registers, scores);
    }
}

impl Action {
    fn run(&self, tile: &Tile<'_>, registers: &[Vec<f64>], out: &mut [f64]) {
        let rows = out.len();
        let operand = |source: Source| match source {
            Source::Register(i) => Operand::Column(&registers[i][..rows]),
            Source::Constant(value) => Operand::Constant(value),
        };
        match *self {
            Action::Load(load) => load(tile, out),
            Action::Call(Kernel::Unary(run), [x, _]) => match operand(x) {
                Operand::Column(x) => run(out, x),
                Operand::Constant(_) => unreachable!("functions of constants are computed beforehand"),
            },
            Action::Call(Kernel::Binary(run), [x, y]) => run(out, operand(x), operand(y)),
        }
    }
}

#[cfg(test)]
mod tests;

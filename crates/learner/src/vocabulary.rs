//! Functions, terminals and constants of trees.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use recrawl_formula::{Expr, Function, Terminal};

/// The terminals, constants and functions of trees.
#[derive(Clone, Debug, PartialEq)]
pub struct Vocabulary {
    /// Values of a page.
    pub terminals: Vec<&'static Terminal>,
    /// Numbers; each is a terminal of its own, as in the thesis (section 3.2).
    pub constants: Vec<f64>,
    /// Inner nodes.
    pub functions: Vec<&'static Function>,
}

impl Vocabulary {
    /// Number of distinct leaves.
    fn leaves(&self) -> usize {
        self.terminals.len() + self.constants.len()
    }

    /// A random leaf; all terminals and constants are equally likely.
    pub fn leaf(&self, rng: &mut ChaCha8Rng) -> Expr {
        self.nth_leaf(rng.random_range(0..self.leaves()))
    }

    fn nth_leaf(&self, i: usize) -> Expr {
        match self.terminals.get(i) {
            Some(terminal) => Expr::Terminal(terminal),
            None => Expr::Constant(self.constants[i - self.terminals.len()]),
        }
    }

    /// A random leaf other than this one; `None` if there is no other.
    pub fn other_leaf(&self, than: &Expr, rng: &mut ChaCha8Rng) -> Option<Expr> {
        let others: Vec<usize> = (0..self.leaves()).filter(|&i| self.nth_leaf(i) != *than).collect();
        (!others.is_empty()).then(|| self.nth_leaf(others[rng.random_range(0..others.len())]))
    }

    /// A random function.
    pub fn function(&self, rng: &mut ChaCha8Rng) -> &'static Function {
        self.functions[rng.random_range(0..self.functions.len())]
    }

    /// A random function of the same arity other than this one; `None` if there is no other.
    pub fn other_function(&self, than: &Function, rng: &mut ChaCha8Rng) -> Option<&'static Function> {
        let alike = |f: &&&'static Function| f.arity == than.arity && **f != than;
        let others: Vec<&'static Function> = self.functions.iter().filter(alike).copied().collect();
        (!others.is_empty()).then(|| others[rng.random_range(0..others.len())])
    }

    /// Whether a random node is a function, if all leaves and functions are equally likely.
    pub fn draws_function(&self, rng: &mut ChaCha8Rng) -> bool {
        rng.random_range(0..self.leaves() + self.functions.len()) >= self.leaves()
    }

    /// Whether it has all terminals and functions of the expression. Constants may differ.
    pub fn speaks(&self, expr: &Expr) -> bool {
        self.foreign(expr).is_none()
    }

    /// A terminal or function of the expression that it does not have.
    pub fn foreign(&self, expr: &Expr) -> Option<&'static str> {
        match expr {
            Expr::Constant(_) => None,
            Expr::Terminal(t) => (!self.terminals.contains(t)).then_some(t.name),
            Expr::Call(f, _) if !self.functions.contains(f) => Some(f.name),
            Expr::Call(_, arguments) => arguments.iter().find_map(|a| self.foreign(a)),
        }
    }
}

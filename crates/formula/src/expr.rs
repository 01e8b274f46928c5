//! The expression tree.

use crate::{Function, Terminal};

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A number; finite, or it could not be written.
    Constant(f64),
    /// A value of the page.
    Terminal(&'static Terminal),
    /// A function with as many arguments as its arity.
    Call(&'static Function, Vec<Expr>),
}

impl Expr {
    /// Maximum depth that the parser accepts; a single terminal has depth 1. Learned expressions
    /// stay below 20.
    pub const MAX_DEPTH: usize = 64;
    /// Maximum nodes that the parser accepts.
    pub const MAX_NODES: usize = 512;
    /// Maximum bytes of text that the parser accepts.
    pub const MAX_BYTES: usize = 4096;

    /// A terminal or a function call, by name.
    ///
    /// # Panics
    /// If there is no such name; only for names in the code.
    pub fn named(name: &str, arguments: Vec<Expr>) -> Expr {
        if arguments.is_empty() {
            return Expr::Terminal(Terminal::named(name).expect("a terminal of that name"));
        }
        let function = Function::named(name).expect("a function of that name");
        assert_eq!(arguments.len(), function.arity, "the arguments of {name}");
        Expr::Call(function, arguments)
    }

    /// The arguments; empty for a leaf.
    pub fn arguments(&self) -> &[Expr] {
        match self {
            Expr::Call(_, arguments) => arguments,
            _ => &[],
        }
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        1 + self.arguments().iter().map(Expr::nodes).sum::<usize>()
    }

    /// Number of nodes on the longest path from the root to a leaf.
    pub fn depth(&self) -> usize {
        1 + self.arguments().iter().map(Expr::depth).max().unwrap_or(0)
    }

    /// The terminals in use, each once, in the order of [`terminal::ALL`](crate::terminal::ALL).
    pub fn terminals(&self) -> Vec<&'static Terminal> {
        crate::terminal::ALL.iter().copied().filter(|t| self.uses(t)).collect()
    }

    /// Whether the terminal occurs.
    pub fn uses(&self, terminal: &Terminal) -> bool {
        match self {
            Expr::Terminal(t) => *t == terminal,
            _ => self.arguments().iter().any(|a| a.uses(terminal)),
        }
    }
}

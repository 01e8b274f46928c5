//! The functions of expressions, one file each.

mod add;
mod div;
mod exp;
mod log;
mod max;
mod min;
mod mul;
mod neg;
mod pow;
mod sqrt;
mod sub;

use crate::Protection;
use crate::kernel::{Kernel, Operand};
use serde::{Deserialize, Serialize};
use std::fmt;

/// An operator or a function.
#[derive(Debug)]
pub struct Function {
    /// Name: the word in expressions, or the name of an operator's symbol.
    pub name: &'static str,
    /// The notation.
    pub syntax: FunctionSyntax,
    /// A short description of the result.
    pub help: &'static str,
    /// Number of arguments, 1 or 2.
    pub arity: usize,
    /// The operation over a tile, for a protection.
    pub kernel: fn(Protection) -> Kernel,
}

/// The notation of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunctionSyntax {
    /// Between its arguments, left-associative.
    Infix {
        /// The operator.
        symbol: char,
        /// Precedence: 1 for sums, 2 for products.
        binds: u8,
    },
    /// Before its argument, with higher precedence than any infix operator.
    Prefix {
        /// The operator.
        symbol: char,
    },
    /// `name(a, b)`.
    Call,
}

/// Every function, in display order; each [`FunctionSet`] is a prefix of it.
pub static ALL: &[&Function] = &[
    &add::FUNCTION,
    &sub::FUNCTION,
    &mul::FUNCTION,
    &div::FUNCTION,
    &log::FUNCTION,
    &exp::FUNCTION,
    &pow::FUNCTION,
    &neg::FUNCTION,
    &min::FUNCTION,
    &max::FUNCTION,
    &sqrt::FUNCTION,
];

/// A set of functions for expressions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FunctionSet {
    /// Sum, difference, product, quotient, `log`, `exp` and `pow`: those of Santos et al. (2013 and 2015).
    #[default]
    Basic,
    /// Every function.
    Extended,
}

impl FunctionSet {
    /// Both sets.
    pub const ALL: [FunctionSet; 2] = [FunctionSet::Basic, FunctionSet::Extended];

    /// The name in configurations.
    pub fn name(self) -> &'static str {
        match self {
            FunctionSet::Basic => "basic",
            FunctionSet::Extended => "extended",
        }
    }

    /// The set with this name.
    pub fn named(name: &str) -> Option<FunctionSet> {
        FunctionSet::ALL.into_iter().find(|set| set.name() == name)
    }

    /// Its functions.
    pub fn functions(self) -> &'static [&'static Function] {
        match self {
            FunctionSet::Basic => &ALL[..7],
            FunctionSet::Extended => ALL,
        }
    }
}

impl fmt::Display for FunctionSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Function {
    /// The function with this name, operators included.
    pub fn named(name: &str) -> Option<&'static Function> {
        ALL.iter().copied().find(|f| f.name == name)
    }

    /// The function written as a call with this name.
    pub fn called(name: &str) -> Option<&'static Function> {
        ALL.iter().copied().find(|f| f.syntax == FunctionSyntax::Call && f.name == name)
    }

    /// The infix operator with this symbol, and its precedence.
    pub fn infix(written: char) -> Option<(&'static Function, u8)> {
        ALL.iter().copied().find_map(|f| match f.syntax {
            FunctionSyntax::Infix { symbol, binds } if symbol == written => Some((f, binds)),
            _ => None,
        })
    }

    /// The prefix operator with this symbol.
    pub fn prefix(written: char) -> Option<&'static Function> {
        ALL.iter().copied().find(|f| f.syntax == FunctionSyntax::Prefix { symbol: written })
    }

    /// Applies the function to one row, for constant folding.
    ///
    /// If the number of arguments differs from the arity.
    /// When the number of arguments is not the arity.
    pub fn apply(&self, protection: Protection, arguments: &[f64]) -> f64 {
        let mut result = [f64::NAN];
        match ((self.kernel)(protection), arguments) {
            (Kernel::Unary(run), x @ [_]) => run(&mut result, x),
            (Kernel::Binary(run), &[x, y]) => run(&mut result, Operand::Constant(x), Operand::Constant(y)),
            _ => panic!("{} takes {} arguments, not {}", self.name, self.arity, arguments.len()),
        }
        result[0]
    }
}

impl PartialEq for Function {
    fn eq(&self, other: &Function) -> bool {
        self.name == other.name
    }
}

/// The kernel of a unary function, which is marked for inlining.
macro_rules! unary {
    ($value:expr) => {
        $crate::kernel::Kernel::Unary(|out, x| {
            $crate::kernel::unary(
                out,
                x,
                #[inline(always)]
                |x| $value(x),
            )
        })
    };
}

/// The kernel of a binary function, which is marked for inlining.
macro_rules! binary {
    ($value:expr) => {
        $crate::kernel::Kernel::Binary(|out, x, y| {
            $crate::kernel::binary(
                out,
                x,
                y,
                #[inline(always)]
                |x, y| $value(x, y),
            )
        })
    };
}

use {binary, unary};

#[cfg(test)]
mod tests;

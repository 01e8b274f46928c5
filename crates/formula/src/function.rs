//! The functions of expressions, one file each.

mod add;
mod div;
mod exp;
mod log;
mod mul;
mod neg;
mod pow;
mod sub;

use crate::Protection;

/// An operator or a function.
#[derive(Debug)]
pub struct Function {
    /// Its name: the word in expressions, or for an operator the name of its symbol.
    pub name: &'static str,
    /// How it is written.
    pub syntax: Syntax,
    /// What it yields, in words.
    pub help: &'static str,
    /// Number of arguments, 1 or 2.
    pub arity: usize,
    /// The operation over a tile, once the protection is chosen.
    pub kernel: fn(Protection) -> Kernel,
}

/// How a function is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// Between its arguments; of equals the left one binds first.
    Infix {
        /// The operator.
        symbol: char,
        /// The higher, the tighter: 1 for sums, 2 for products.
        binds: u8,
    },
    /// Before its argument, tighter than any infix operator.
    Prefix {
        /// The operator.
        symbol: char,
    },
    /// `name(a, b)`.
    Call,
}

/// An operation over the rows of a tile; the result replaces the first argument.
#[derive(Clone, Copy, Debug)]
pub enum Kernel {
    /// One argument.
    Unary(fn(&mut [f64])),
    /// Two arguments of equal length.
    Binary(fn(&mut [f64], &[f64])),
}

/// Every function, in the order in which they are listed to people.
pub static ALL: &[&Function] = &[
    &add::FUNCTION,
    &sub::FUNCTION,
    &mul::FUNCTION,
    &div::FUNCTION,
    &neg::FUNCTION,
    &log::FUNCTION,
    &exp::FUNCTION,
    &pow::FUNCTION,
];

impl Function {
    /// The function of that name, operators too.
    pub fn named(name: &str) -> Option<&'static Function> {
        ALL.iter().copied().find(|f| f.name == name)
    }

    /// The function written as a call of that name.
    pub fn called(name: &str) -> Option<&'static Function> {
        ALL.iter().copied().find(|f| f.syntax == Syntax::Call && f.name == name)
    }

    /// The infix operator of that symbol, with how tightly it binds.
    pub fn infix(written: char) -> Option<(&'static Function, u8)> {
        ALL.iter().copied().find_map(|f| match f.syntax {
            Syntax::Infix { symbol, binds } if symbol == written => Some((f, binds)),
            _ => None,
        })
    }

    /// The prefix operator of that symbol.
    pub fn prefix(written: char) -> Option<&'static Function> {
        ALL.iter().copied().find(|f| f.syntax == Syntax::Prefix { symbol: written })
    }

    /// The function of one row: for folding constants.
    ///
    /// # Panics
    /// When the number of arguments is not the arity.
    pub fn apply(&self, protection: Protection, arguments: &[f64]) -> f64 {
        let mut result = [arguments[0]];
        match ((self.kernel)(protection), arguments) {
            (Kernel::Unary(run), [_]) => run(&mut result),
            (Kernel::Binary(run), [_, y]) => run(&mut result, &[*y]),
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

/// The kernel of a function of one number.
macro_rules! unary {
    ($value:expr) => {
        $crate::function::Kernel::Unary(|x| x.iter_mut().for_each(|x| *x = $value(*x)))
    };
}

/// The kernel of a function of two numbers.
macro_rules! binary {
    ($value:expr) => {
        $crate::function::Kernel::Binary(|x, y| x.iter_mut().zip(y).for_each(|(x, y)| *x = $value(*x, *y)))
    };
}

use {binary, unary};

#[cfg(test)]
mod tests;

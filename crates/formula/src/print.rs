//! Prints expressions as text that parses to the same tree.

use crate::Expr;
use crate::function::FunctionSyntax;
use std::fmt;

/// Precedence: sums 1, products 2, a prefix 3, everything else 4.
const PREFIX: u8 = 3;
const ATOM: u8 = 4;

/// Prints only the parentheses that the tree needs, and as many digits of a constant as identify
/// it.
impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (function, arguments) = match self {
            Expr::Constant(value) => return write_constant(*value, f),
            Expr::Terminal(terminal) => return f.write_str(terminal.name),
            Expr::Call(function, arguments) => (function, arguments),
        };
        match (function.syntax, arguments.as_slice()) {
            (FunctionSyntax::Infix { symbol, binds }, [left, right]) => {
                write_within(left, binds, f)?;
                write!(f, " {symbol} ")?;
                write_within(right, binds + 1, f)
            }
            // The parser takes a minus right before a number as the number's sign.
            (FunctionSyntax::Prefix { symbol }, [Expr::Constant(value)]) if value.is_sign_positive() => {
                write!(f, "{symbol}(")?;
                write_constant(*value, f)?;
                f.write_str(")")
            }
            (FunctionSyntax::Prefix { symbol }, [argument]) => {
                write!(f, "{symbol}")?;
                write_within(argument, PREFIX, f)
            }
            (_, arguments) => {
                write!(f, "{}(", function.name)?;
                for (i, argument) in arguments.iter().enumerate() {
                    f.write_str(if i > 0 { ", " } else { "" })?;
                    write!(f, "{argument}")?;
                }
                f.write_str(")")
            }
        }
    }
}

/// Prints an operand of an operator with precedence `binds`.
fn write_within(part: &Expr, binds: u8, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let own = match part {
        Expr::Call(function, _) => match function.syntax {
            FunctionSyntax::Infix { binds, .. } => binds,
            FunctionSyntax::Prefix { .. } => PREFIX,
            FunctionSyntax::Call => ATOM,
        },
        _ => ATOM,
    };
    if own < binds { write!(f, "({part})") } else { write!(f, "{part}") }
}

/// Plain digits if they are short, else an exponent.
fn write_constant(value: f64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let size = value.abs();
    if size == 0.0 || (1e-5..1e16).contains(&size) { write!(f, "{value}") } else { write!(f, "{value:e}") }
}

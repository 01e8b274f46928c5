//! Simplifies expressions without changing their value.

use crate::{Expr, Function, Protection};

/// An expression with the same value as `expr` under `protection`, bit for bit, and NaN for NaN
/// (with any bits). It is no larger and no deeper. Folds constants with a finite result, and
/// removes neutral elements and double signs.
///
/// Only uses identities that hold for every `f64`. x·0 is not 0 for an infinite x, so it stays. x +
/// 0 is not x for x = −0, so it is removed only if x cannot be −0.
///
/// ```
/// use recrawl_formula::{Protection, parse, simplify};
///
/// let simple = simplify(&parse("t * 1 + 0")?, Protection::default());
/// assert_eq!(simple.to_string(), "t");
/// # Ok::<(), recrawl_formula::ParseError>(())
/// ```
pub fn simplify(expr: &Expr, protection: Protection) -> Expr {
    let Expr::Call(function, arguments) = expr else { return expr.clone() };
    let arguments: Vec<Expr> = arguments.iter().map(|a| simplify(a, protection)).collect();
    fold(function, &arguments, protection).unwrap_or_else(|| reduce(function, arguments))
}

/// The value of a function of constants, if it is finite.
fn fold(function: &Function, arguments: &[Expr], protection: Protection) -> Option<Expr> {
    let constants: Option<Vec<f64>> = arguments
        .iter()
        .map(|a| match a {
            Expr::Constant(value) => Some(*value),
            _ => None,
        })
        .collect();
    let value = function.apply(protection, &constants?);
    value.is_finite().then_some(Expr::Constant(value))
}

/// Applies the first identity that fits, and continues with the result.
fn reduce(function: &'static Function, mut arguments: Vec<Expr>) -> Expr {
    use Expr::Constant;
    let second = (arguments.len() == 2).then(|| arguments.pop().expect("two arguments"));
    let first = arguments.pop().expect("at least one argument");
    match (function.name, first, second) {
        // Neutral elements.
        ("mul", x, Some(Constant(1.0))) | ("mul", Constant(1.0), Some(x)) => x,
        // Not pow(x, 1), which may differ from x in its last bit.
        ("div", x, Some(Constant(1.0))) => x,
        ("pow", _, Some(Constant(0.0))) | ("pow", Constant(1.0), Some(_)) => Constant(1.0),
        ("add", x, Some(Constant(c))) | ("add", Constant(c), Some(x)) if vanishes(c, &x) => x,
        ("sub", x, Some(Constant(c))) if vanishes(-c, &x) => x,
        // Signs. 0 − x is not −x: for x = 0 their signs differ.
        ("neg", Expr::Call(f, mut inner), None) if f.name == "neg" => inner.remove(0),
        ("add", x, Some(Expr::Call(f, mut inner))) if f.name == "neg" => {
            let y = inner.remove(0);
            reduce(named("sub"), vec![x, y])
        }
        ("sub", x, Some(Expr::Call(f, mut inner))) if f.name == "neg" => {
            let y = inner.remove(0);
            reduce(named("add"), vec![x, y])
        }
        (_, x, second) => Expr::Call(function, std::iter::once(x).chain(second).collect()),
    }
}

fn named(name: &str) -> &'static Function {
    Function::named(name).expect("a function of the list")
}

/// Whether x + c equals x for every possible x. x + (−0) always does; x + 0 turns −0 into 0.
fn vanishes(c: f64, x: &Expr) -> bool {
    c == 0.0 && (c.is_sign_negative() || !may_be_negative_zero(x))
}

/// Whether the value could be −0; true if unknown.
fn may_be_negative_zero(expr: &Expr) -> bool {
    match expr {
        Expr::Constant(value) => *value == 0.0 && value.is_sign_negative(),
        Expr::Terminal(_) => false,
        Expr::Call(function, arguments) => match function.name {
            "exp" => false,
            // A logarithm is 0 only at 1, where it is positive; the thesis' log(−0) is 0 as
            // well.
            "log" => false,
            // A sum is −0 only if both operands are.
            "add" => arguments.iter().all(may_be_negative_zero),
            // A difference is −0 only as (−0) − 0.
            "sub" => may_be_negative_zero(&arguments[0]),
            // One of the arguments, or a square root: that of −0 is −0.
            "min" | "max" | "sqrt" => arguments.iter().any(may_be_negative_zero),
            _ => true,
        },
    }
}

#[cfg(test)]
mod tests;

//! Smaller expressions of the same value.

use crate::{Expr, Function, Protection};

/// An expression that yields bit for bit the same as `expr` under `protection`, NaN for NaN (whatever
/// the bits of the NaN), and that is no larger and no deeper. Constants are folded where the result is
/// finite; neutral elements and double signs go.
///
/// Only identities that hold for every `f64` are used: x·0 is not 0 for an infinite x, and x + 0 is
/// not x for x = −0, so the former stays, and the latter goes only where x cannot be −0.
pub fn simplify(expr: &Expr, protection: Protection) -> Expr {
    let Expr::Call(function, arguments) = expr else { return expr.clone() };
    let arguments: Vec<Expr> = arguments.iter().map(|a| simplify(a, protection)).collect();
    fold(function, &arguments, protection).unwrap_or_else(|| reduce(function, arguments))
}

/// The value of a function of constants, where it is finite.
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

/// Applies the first identity that fits, and again to what comes of it.
fn reduce(function: &'static Function, mut arguments: Vec<Expr>) -> Expr {
    use Expr::Constant;
    let second = (arguments.len() == 2).then(|| arguments.pop().expect("two arguments"));
    let first = arguments.pop().expect("at least one argument");
    match (function.name, first, second) {
        // Neutral elements.
        ("mul", x, Some(Constant(1.0))) | ("mul", Constant(1.0), Some(x)) => x,
        // Not so pow(x, 1), which is x but for its last bit.
        ("div", x, Some(Constant(1.0))) => x,
        ("pow", _, Some(Constant(0.0))) | ("pow", Constant(1.0), Some(_)) => Constant(1.0),
        ("add", x, Some(Constant(c))) | ("add", Constant(c), Some(x)) if vanishes(c, &x) => x,
        ("sub", x, Some(Constant(c))) if vanishes(-c, &x) => x,
        // Signs. 0 − x is not −x: for x = 0 they differ in sign.
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

/// Is x + c the same as x for every value that x can have? x + (−0) always is; x + 0 turns −0 into 0.
fn vanishes(c: f64, x: &Expr) -> bool {
    c == 0.0 && (c.is_sign_negative() || !may_be_negative_zero(x))
}

/// Could the value be −0? When in doubt, yes.
fn may_be_negative_zero(expr: &Expr) -> bool {
    match expr {
        Expr::Constant(value) => *value == 0.0 && value.is_sign_negative(),
        Expr::Terminal(_) => false,
        Expr::Call(function, arguments) => match function.name {
            "exp" => false,
            // A logarithm is 0 only at 1, and that 0 is positive; the thesis' log(−0) is 0 as well.
            "log" => false,
            // A sum of two is −0 only if both are.
            "add" => arguments.iter().all(may_be_negative_zero),
            // A difference is −0 only as (−0) − 0.
            "sub" => may_be_negative_zero(&arguments[0]),
            // One of the arguments, or the root of one: that of −0 is −0.
            "min" | "max" | "sqrt" => arguments.iter().any(may_be_negative_zero),
            _ => true,
        },
    }
}

#[cfg(test)]
mod tests;

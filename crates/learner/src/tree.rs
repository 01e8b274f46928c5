//! Positions in a tree, and limits of its size.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use recrawl_formula::Expr;

/// Maximum size of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeLimits {
    /// Nodes on the longest path from the root to a leaf, including both.
    pub depth: usize,
    /// Number of nodes.
    pub nodes: usize,
}

/// A tree with at most this many nodes is always short enough to be written.
const SURELY_SHORT: usize = 100;

impl TreeLimits {
    /// Whether the tree is within the limits and short enough for the parser.
    pub fn admit(&self, expr: &Expr) -> bool {
        let nodes = expr.nodes();
        nodes <= self.nodes
            && expr.depth() <= self.depth
            && (nodes <= SURELY_SHORT || expr.to_string().len() <= Expr::MAX_BYTES)
    }
}

/// The subtree at an index in prefix order; the root is 0.
///
/// # Panics
/// If the tree has no such index.
pub fn at(expr: &Expr, place: usize) -> &Expr {
    fn find<'a>(expr: &'a Expr, left: &mut usize) -> Option<&'a Expr> {
        if *left == 0 {
            return Some(expr);
        }
        *left -= 1;
        expr.arguments().iter().find_map(|a| find(a, left))
    }
    let mut left = place;
    find(expr, &mut left).unwrap_or_else(|| panic!("place {place} of {} nodes", expr.nodes()))
}

/// The subtree at an index, mutable.
///
/// # Panics
/// If the tree has no such index.
pub fn at_mut(expr: &mut Expr, place: usize) -> &mut Expr {
    fn find<'a>(expr: &'a mut Expr, left: &mut usize) -> Option<&'a mut Expr> {
        if *left == 0 {
            return Some(expr);
        }
        *left -= 1;
        match expr {
            Expr::Call(_, arguments) => arguments.iter_mut().find_map(|a| find(a, left)),
            _ => None,
        }
    }
    let mut left = place;
    find(expr, &mut left).unwrap_or_else(|| panic!("no place {place} in the tree"))
}

/// The indexes of the nodes for which `is` holds.
pub fn places(expr: &Expr, is: impl Fn(&Expr) -> bool) -> Vec<usize> {
    fn visit(expr: &Expr, is: &impl Fn(&Expr) -> bool, next: &mut usize, found: &mut Vec<usize>) {
        if is(expr) {
            found.push(*next);
        }
        *next += 1;
        expr.arguments().iter().for_each(|a| visit(a, is, next, found));
    }
    let mut found = Vec::new();
    visit(expr, &is, &mut 0, &mut found);
    found
}

/// A random index for which `is` holds; `None` if there is none.
pub fn random_place(expr: &Expr, rng: &mut ChaCha8Rng, is: impl Fn(&Expr) -> bool) -> Option<usize> {
    let places = places(expr, is);
    (!places.is_empty()).then(|| places[rng.random_range(0..places.len())])
}

/// Sorts the arguments of sums and products by their texts. Their order does not affect the bits of
/// the value (IEEE 754).
pub fn in_order(expr: &Expr) -> Expr {
    let Expr::Call(function, arguments) = expr else { return expr.clone() };
    let mut arguments: Vec<Expr> = arguments.iter().map(in_order).collect();
    if matches!(function.name, "add" | "mul") {
        arguments.sort_by_cached_key(Expr::to_string);
    }
    Expr::Call(function, arguments)
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_formula::parse;

    #[test]
    fn places_count_from_the_root_and_from_the_left() {
        let mut expr = parse("(t + X) * log(n)").unwrap();
        let texts: Vec<String> = (0..expr.nodes()).map(|i| at(&expr, i).to_string()).collect();
        assert_eq!(texts, ["(t + X) * log(n)", "t + X", "t", "X", "log(n)", "n"]);
        assert_eq!(places(&expr, |e| e.arguments().is_empty()), [2, 3, 5]);
        *at_mut(&mut expr, 4) = parse("2").unwrap();
        assert_eq!(expr.to_string(), "(t + X) * 2");
    }

    #[test]
    fn limits_are_met_exactly() {
        let expr = parse("t * (X + 1)").unwrap();
        assert!(TreeLimits { depth: 3, nodes: 5 }.admit(&expr));
        assert!(!TreeLimits { depth: 2, nodes: 5 }.admit(&expr));
        assert!(!TreeLimits { depth: 3, nodes: 4 }.admit(&expr));
    }

    #[test]
    fn what_is_too_long_to_be_written_is_not_admitted() {
        let mut expr = Expr::Constant(-1.234567890123456e-300);
        for _ in 0..8 {
            expr = Expr::named("pow", vec![expr.clone(), expr]);
        }
        assert!(expr.to_string().len() > Expr::MAX_BYTES && expr.nodes() < 512);
        assert!(!TreeLimits { depth: 20, nodes: 512 }.admit(&expr));
    }

    #[test]
    fn sums_and_products_have_one_order() {
        let same = |a: &str, b: &str| in_order(&parse(a).unwrap()) == in_order(&parse(b).unwrap());
        assert!(same("t * (X + n)", "(n + X) * t"));
        assert!(!same("t - X", "X - t") && !same("t / X", "X / t") && !same("pow(t, X)", "pow(X, t)"));
        assert!(!same("t + (X + n)", "(t + X) + n"), "sums of three are rounded otherwise");
    }
}

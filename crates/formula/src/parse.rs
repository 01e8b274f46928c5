//! Parses text to an expression.
//!
//! ```text
//! sum     = product (("+" | "-") product)*
//! product = unary (("*" | "/") unary)*
//! unary   = "-" unary | "-" number | atom
//! atom    = number | terminal | name "(" sum ("," sum)* ")" | "(" sum ")"
//! ```
//! Operators of equal precedence are left-associative. A minus right before a number is the
//! number's sign.

mod error;
mod lexer;

pub use error::{ParseError, ParseProblem};

use crate::nearest::nearest;
use crate::{Expr, Function, Terminal, function, terminal};
use lexer::{FormulaToken, Lexer};

/// Maximum nesting of parentheses, calls and signs in the text. The tree has its own limit,
/// [`Expr::MAX_DEPTH`], and parentheses do not appear in it.
const MAX_NESTING: usize = 4 * Expr::MAX_DEPTH;

/// Parses an expression.
///
/// # Errors
/// What is wrong, and at which byte: [`ParseError::caret`] shows the position.
/// ```
/// let problem = recrawl_formula::parse("t * age").unwrap_err();
/// assert!(problem.to_string().contains("age"), "{problem}");
/// ```
pub fn parse(text: &str) -> Result<Expr, ParseError> {
    if text.len() > Expr::MAX_BYTES {
        return Err(ParseError::new(text, Expr::MAX_BYTES, ParseProblem::TooLong));
    }
    let mut parser = Parser { lexer: Lexer::new(text), nodes: 0, nesting: 0 };
    let expr = parser.infix(1)?.expr;
    match parser.lexer.peek()? {
        (FormulaToken::End, _) => Ok(expr),
        (token, at) => Err(parser.error(at, ParseProblem::Unexpected { found: token.to_string() })),
    }
}

/// A parsed part with its depth, which would otherwise be counted again at every level.
struct ParsedExpr {
    expr: Expr,
    depth: usize,
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    nodes: usize,
    nesting: usize,
}

/// Precedence of the strongest infix operator.
const TIGHTEST: u8 = 2;

impl Parser<'_> {
    /// Parts joined by operators with precedence `binds`.
    fn infix(&mut self, binds: u8) -> Result<ParsedExpr, ParseError> {
        if binds > TIGHTEST {
            return self.unary();
        }
        let mut left = self.infix(binds + 1)?;
        loop {
            let (token, at) = self.lexer.peek()?;
            let FormulaToken::Symbol(symbol) = token else { return Ok(left) };
            match Function::infix(symbol) {
                Some((function, own)) if own == binds => {
                    self.lexer.take()?;
                    let right = self.infix(binds + 1)?;
                    left = self.call(at, function, vec![left, right])?;
                }
                _ => return Ok(left),
            }
        }
    }

    fn unary(&mut self) -> Result<ParsedExpr, ParseError> {
        let (token, at) = self.lexer.peek()?;
        let FormulaToken::Symbol(symbol) = token else { return self.atom() };
        let Some(function) = Function::prefix(symbol) else { return self.atom() };
        self.lexer.take()?;
        if let (FormulaToken::Number(value), _) = self.lexer.peek()? {
            self.lexer.take()?;
            return self.leaf(at, Expr::Constant(-value));
        }
        let argument = self.nested(at, Self::unary)?;
        self.call(at, function, vec![argument])
    }

    fn atom(&mut self) -> Result<ParsedExpr, ParseError> {
        let (token, at) = self.lexer.take()?;
        match token {
            FormulaToken::Number(value) => self.leaf(at, Expr::Constant(value)),
            FormulaToken::Name(name) => {
                if let (FormulaToken::Symbol('('), _) = self.lexer.peek()? {
                    return self.called(at, name);
                }
                match Terminal::named(name) {
                    Some(terminal) => self.leaf(at, Expr::Terminal(terminal)),
                    None => Err(self.error(at, misplaced(name))),
                }
            }
            FormulaToken::Symbol('(') => {
                let part = self.nested(at, |p| p.infix(1))?;
                self.expect(')', "an operator or ')'")?;
                Ok(part)
            }
            found => Err(self.error(at, ParseProblem::NoValue { found: found.to_string() })),
        }
    }

    fn called(&mut self, at: usize, name: &str) -> Result<ParsedExpr, ParseError> {
        let Some(function) = Function::called(name) else { return Err(self.error(at, misplaced(name))) };
        self.expect('(', "'('")?;
        let mut arguments = Vec::with_capacity(function.arity);
        loop {
            arguments.push(self.nested(at, |p| p.infix(1))?);
            match self.lexer.peek()? {
                (FormulaToken::Symbol(','), _) if arguments.len() < function.arity => self.lexer.take()?,
                (FormulaToken::Symbol(')'), _) if arguments.len() == function.arity => break,
                (FormulaToken::Symbol(',' | ')'), at) => {
                    let problem = ParseProblem::Arity { name: function.name, takes: function.arity };
                    return Err(self.error(at, problem));
                }
                (token, at) => {
                    let problem =
                        ParseProblem::Expected { what: "an operator, ',' or ')'", found: token.to_string() };
                    return Err(self.error(at, problem));
                }
            };
        }
        self.lexer.take()?;
        self.call(at, function, arguments)
    }

    fn expect(&mut self, symbol: char, what: &'static str) -> Result<(), ParseError> {
        match self.lexer.take()? {
            (FormulaToken::Symbol(found), _) if found == symbol => Ok(()),
            (token, at) => Err(self.error(at, ParseProblem::Expected { what, found: token.to_string() })),
        }
    }

    /// Parses one level deeper; the nesting limit bounds the call stack.
    fn nested(
        &mut self,
        at: usize,
        inner: impl FnOnce(&mut Self) -> Result<ParsedExpr, ParseError>,
    ) -> Result<ParsedExpr, ParseError> {
        if self.nesting == MAX_NESTING {
            return Err(self.error(at, ParseProblem::TooDeep));
        }
        self.nesting += 1;
        let part = inner(self);
        self.nesting -= 1;
        part
    }

    fn leaf(&mut self, at: usize, expr: Expr) -> Result<ParsedExpr, ParseError> {
        self.count(at)?;
        Ok(ParsedExpr { expr, depth: 1 })
    }

    fn call(
        &mut self,
        at: usize,
        function: &'static Function,
        arguments: Vec<ParsedExpr>,
    ) -> Result<ParsedExpr, ParseError> {
        self.count(at)?;
        let depth = 1 + arguments.iter().map(|a| a.depth).max().unwrap_or(0);
        if depth > Expr::MAX_DEPTH {
            return Err(self.error(at, ParseProblem::TooDeep));
        }
        Ok(ParsedExpr { expr: Expr::Call(function, arguments.into_iter().map(|a| a.expr).collect()), depth })
    }

    fn count(&mut self, at: usize) -> Result<(), ParseError> {
        self.nodes += 1;
        if self.nodes > Expr::MAX_NODES { Err(self.error(at, ParseProblem::TooManyNodes)) } else { Ok(()) }
    }

    fn error(&self, at: usize, problem: ParseProblem) -> ParseError {
        ParseError::new(self.lexer.text(), at, problem)
    }
}

/// The problem with a name that does not fit its place.
fn misplaced(name: &str) -> ParseProblem {
    if let Some(function) = Function::called(name) {
        return ParseProblem::NotCalled { name: function.name };
    }
    if let Some(terminal) = Terminal::named(name) {
        return ParseProblem::NoFunction { name: terminal.name };
    }
    ParseProblem::Unknown { name: name.to_owned(), nearest: nearest(name, names()) }
}

/// The names of an expression: terminals, and called functions.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    let called = function::ALL.iter().filter(|f| f.syntax == function::FunctionSyntax::Call).map(|f| f.name);
    terminal::ALL.iter().map(|t| t.name).chain(called)
}

#[cfg(test)]
mod tests;

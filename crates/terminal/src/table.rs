//! Output that fits the terminal. Tables have columns as wide as their cells, and where that is too wide, narrower
//! gaps and long cells cut in the middle. Prose is wrapped. Piped output is never cut or wrapped.

/// A column.
pub struct Column {
    head: &'static str,
    /// Text begins at the left, numbers end at the right.
    is_text: bool,
    /// May long cells be cut?
    may_cut: bool,
}

/// A column of numbers.
pub const fn number(head: &'static str) -> Column {
    Column { head, is_text: false, may_cut: false }
}

/// A column of words.
pub const fn word(head: &'static str) -> Column {
    Column { head, is_text: true, may_cut: false }
}

/// A column of hosts or URLs.
pub const fn long(head: &'static str) -> Column {
    Column { head, is_text: true, may_cut: true }
}

/// Width below which no column is cut.
const MIN_WIDTH: usize = 16;

/// The lines of a table, its heading first, within `width` characters where that is possible; none for no limit.
pub fn lines<const N: usize>(
    columns: &[Column; N],
    rows: &[[String; N]],
    width: Option<usize>,
) -> Vec<String> {
    let heads = columns.each_ref().map(|column| column.head.to_owned());
    let mut widths: [usize; N] = std::array::from_fn(|at| {
        rows.iter().chain([&heads]).map(|row| row[at].chars().count()).max().unwrap_or(0)
    });
    let total = |widths: &[usize; N], gap: usize| widths.iter().sum::<usize>() + gap * N.saturating_sub(1);
    let width = width.unwrap_or(usize::MAX);
    let gap = if total(&widths, 2) <= width { 2 } else { 1 };
    while total(&widths, gap) > width {
        let widest =
            (0..N).filter(|at| columns[*at].may_cut && widths[*at] > MIN_WIDTH).max_by_key(|at| widths[*at]);
        let Some(widest) = widest else { break };
        widths[widest] -= 1;
    }
    let line = |row: &[String; N]| {
        let cells = (0..N).map(|at| {
            let (cell, width) = (cut(&row[at], widths[at]), widths[at]);
            if columns[at].is_text { format!("{cell:width$}") } else { format!("{cell:>width$}") }
        });
        cells.collect::<Vec<_>>().join(&" ".repeat(gap)).trim_end().to_owned()
    };
    std::iter::once(&heads).chain(rows).map(line).collect()
}

/// A line of prose within `width` characters where that is possible; none for no limit. Further lines are indented.
/// A long word stays whole.
pub fn wrapped(line: &str, indent: usize, width: Option<usize>) -> String {
    let width = width.filter(|width| *width >= indent + MIN_WIDTH).unwrap_or(usize::MAX);
    let (mut out, mut column) = (String::with_capacity(line.len()), 0);
    for word in line.split_inclusive(' ') {
        let length = word.trim_end().chars().count();
        if length > 0 && column > indent && column + length > width {
            out.truncate(out.trim_end().len());
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            column = indent;
        }
        out.push_str(word);
        column += word.chars().count();
    }
    out
}

/// The text in at most `width` characters: its begin and its end say more than its middle.
fn cut(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width || width == 0 {
        return text.to_owned();
    }
    let end = (width - 1) / 2;
    let begin = width - 1 - end;
    text.chars().take(begin).chain(['…']).chain(text.chars().skip(length - end)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [Column; 3] = [long("host"), number("pages"), word("state")];

    fn rows() -> Vec<[String; 3]> {
        let long = format!("https://{}.example.com", "a".repeat(90));
        [[long.as_str(), "1,234", "waiting"], ["http://b.test", "7", "paused"]]
            .map(|row| row.map(str::to_owned))
            .into()
    }

    #[test]
    fn piped_rows_are_whole() {
        let lines = lines(&COLUMNS, &rows(), None);
        assert!(lines[1].contains(&rows()[0][0]) && lines[1].ends_with("  1,234  waiting"), "{lines:?}");
        assert!(lines[0].ends_with("  pages  state") && lines[2].ends_with("      7  paused"), "{lines:?}");
    }

    #[test]
    fn a_table_fits_the_terminal_and_says_what_it_can() {
        for width in [40, 60, 80, 100, 119] {
            for line in lines(&COLUMNS, &rows(), Some(width)) {
                assert!(line.chars().count() <= width, "{width}: {line}");
            }
        }
        let lines = lines(&COLUMNS, &rows(), Some(60));
        assert!(lines[1].starts_with("https://aaa") && lines[1].contains("…"), "{}", lines[1]);
        assert!(lines[1].contains(".example.com") && lines[2].contains("http://b.test "), "{lines:?}");
    }

    #[test]
    fn prose_is_wrapped_at_the_terminals_width_below_its_text() {
        let line = format!("delay       1 s after  each response, {} and so on", "x".repeat(40));
        let told = wrapped(&line, 12, Some(40));
        let begin = "delay       1 s after  each response,\n            xxx";
        assert!(told.starts_with(begin) && told.ends_with("x\n            and so on"), "{told}");
        assert_eq!((wrapped(&line, 12, None), wrapped(&line, 12, Some(20))), (line.clone(), line));
    }

    #[test]
    fn numbers_are_never_cut() {
        let table = lines(&COLUMNS, &rows(), Some(10));
        assert!(table[1].contains("1,234") && table[2].contains('7'), "{table:?}");
    }

    #[test]
    fn a_cut_text_has_both_ends() {
        assert_eq!(
            (cut("abcdefgh", 5), cut("abc", 3), cut("äöüß", 3)),
            ("ab…gh".into(), "abc".into(), "ä…ß".into())
        );
    }
}

//! Words and their numbers.

use std::collections::HashMap;

/// Maximum different words of a data set: about 60 bytes each. The largest recorded set has 122,000.
pub const MAX_VOCABULARY: usize = 10_000_000;
/// Maximum characters of a word. Of a longer one, such as an encoded file, only these count.
pub const MAX_WORD: usize = 64;

/// The words met so far, numbered by their first use.
#[derive(Default)]
pub struct Vocabulary {
    numbers: HashMap<Box<str>, u32>,
    /// How often each word occurs in the text being counted.
    counts: Vec<u32>,
    /// The words that occur in it, by first use.
    met: Vec<u32>,
}

impl Vocabulary {
    /// Counts the words of a text: ascending numbers with their counts.
    ///
    /// # Errors
    /// If there are more than [`MAX_VOCABULARY`] words.
    pub fn count(&mut self, text: &str) -> Result<Vec<(u32, u32)>, String> {
        let result = each_word(text, |word| self.add(word));
        self.met.sort_unstable();
        let counted = self.met.drain(..).map(|word| (word, std::mem::take(&mut self.counts[word as usize])));
        let counted = counted.collect();
        result.map(|()| counted)
    }

    fn add(&mut self, word: &str) -> Result<(), String> {
        let number = match self.numbers.get(word) {
            Some(&number) => number,
            None if self.numbers.len() == MAX_VOCABULARY => {
                return Err(format!("more than {MAX_VOCABULARY} different words; split the data set"));
            }
            None => {
                let number = self.numbers.len() as u32;
                self.numbers.insert(word.into(), number);
                self.counts.push(0);
                number
            }
        };
        let count = &mut self.counts[number as usize];
        if *count == 0 {
            self.met.push(number);
        }
        *count += 1;
        Ok(())
    }

    /// The words by number.
    pub fn into_words(self) -> Vec<Box<str>> {
        let mut words = vec![Box::default(); self.numbers.len()];
        for (word, number) in self.numbers {
            words[number as usize] = word;
        }
        words
    }
}

/// Passes each word of a text in lower case: a run of letters and digits. Chinese characters and Japanese kana are
/// words of one character, as in Unicode's word boundaries (UAX 29), because no space separates them.
fn each_word<E>(text: &str, mut each: impl FnMut(&str) -> Result<(), E>) -> Result<(), E> {
    let (mut word, mut length) = (String::new(), 0);
    for c in text.chars() {
        let stands_alone = !c.is_ascii() && is_ideograph(c);
        if (stands_alone || !c.is_alphanumeric()) && length > 0 {
            each(&word)?;
            word.clear();
            length = 0;
        }
        if stands_alone {
            each(c.encode_utf8(&mut [0; 4]))?;
        } else if c.is_alphanumeric() {
            if length < MAX_WORD {
                match c.is_ascii() {
                    true => word.push(c.to_ascii_lowercase()),
                    false => word.extend(c.to_lowercase()),
                }
            }
            length += 1;
        }
    }
    if length > 0 { each(&word) } else { Ok(()) }
}

/// Chinese characters (Unicode's blocks of CJK ideographs) and kana.
fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3005}'..='\u{3007}' | '\u{3041}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
        && c.is_alphanumeric()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_runs_of_letters_and_digits_in_lower_case() {
        let split = |text: &str| {
            let mut words = Vec::new();
            let collected: Result<(), ()> = each_word(text, |word| {
                words.push(word.to_owned());
                Ok(())
            });
            collected.map(|()| words).unwrap()
        };
        assert_eq!(split("Don't re-read ÉCOLE_2 (x86)!"), ["don", "t", "re", "read", "école", "2", "x86"]);
        assert_eq!(split("利用 Terms規約ＡＢ"), ["利", "用", "terms", "規", "約", "ａｂ"]);
        assert_eq!(split(&"ab".repeat(50)), ["ab".repeat(32)], "a long run counts once");
        assert!(split(" -- \n").is_empty());
    }

    #[test]
    fn numbers_count_by_first_use_and_counts_are_of_one_text() {
        let mut words = Vocabulary::default();
        assert_eq!(words.count("b a b").unwrap(), [(0, 2), (1, 1)]);
        assert_eq!(words.count("c A").unwrap(), [(1, 1), (2, 1)]);
        let words: Vec<String> = words.into_words().into_iter().map(String::from).collect();
        assert_eq!(words, ["b", "a", "c"]);
    }
}

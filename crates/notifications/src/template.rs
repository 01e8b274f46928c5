//! Templates of messages (Jinja, by minijinja).

use minijinja::value::Kwargs;
use minijinja::{Environment, Error, ErrorKind, State, UndefinedBehavior, Value as TemplateValue};
use minijinja_contrib::filters;
use minijinja_contrib::pycompat::unknown_method_callback;
use recrawl_types::Size;
use serde_json::Value;
use std::io;

/// Bytes of a message made by a template at most.
const MAX_RENDERED: usize = 4 << 20;
/// Steps of a template at most: a loop in a loop over texts ends.
const MAX_STEPS: u64 = 1_000_000;

const NAME: &str = "template";

/// Applies a template to the [fields](crate::Message::fields) of a message. The memory that it takes has no bound here:
/// call it in a process whose memory is limited.
///
/// # Errors
/// What is wrong with the template, and in which line.
pub fn render(template: &str, fields: Value) -> Result<String, String> {
    let mut environment = Environment::new();
    // A misspelt field is told, not left out.
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_fuel(Some(MAX_STEPS));
    // As Jinja for Python has them.
    environment.add_filter("truncate", truncate);
    environment.set_unknown_method_callback(unknown_method_callback);
    environment.add_template(NAME, template).map_err(|e| words(&e))?;
    let template = environment.get_template(NAME).expect("it was added");
    // A filter takes what is not there as nothing.
    let unknown = template.undeclared_variables(false).into_iter().filter(|name| {
        fields.get(name).is_none() && !environment.globals().any(|(global, _)| global == name)
    });
    if let Some(name) = unknown.min() {
        return Err(format!("this message has no field {name:?}"));
    }
    let mut text = Bounded(Vec::new());
    template.render_captured_to(fields, &mut text).map_err(|e| words(&e))?;
    Ok(String::from_utf8(text.0).expect("a template writes text"))
}

/// The filter of Jinja, which takes the length also without its name.
fn truncate(
    state: &State,
    text: &TemplateValue,
    length: Option<u64>,
    named: Kwargs,
) -> Result<TemplateValue, Error> {
    let values = named.args().map(|name| Ok((name, named.get::<TemplateValue>(name)?)));
    let length = length.map(|length| Ok(("length", length.into())));
    filters::truncate(state, text, values.chain(length).collect::<Result<_, Error>>()?)
}

/// A message that is being made.
struct Bounded(Vec<u8>);

impl io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > MAX_RENDERED {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn words(error: &minijinja::Error) -> String {
    let what = match error.kind() {
        ErrorKind::WriteFailure => format!("it makes a message of more than {}", Size(MAX_RENDERED as u64)),
        ErrorKind::OutOfFuel => format!("it takes more than {MAX_STEPS} steps"),
        kind => match error.detail() {
            Some(detail) => format!("{kind}: {detail}"),
            None => kind.to_string(),
        },
    };
    match error.line() {
        Some(line) => format!("line {line}: {what}"),
        None => what,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Message;

    fn rendered(text: &str) -> Result<String, String> {
        render(text, Message::of_test("desk", 5, false).fields())
    }

    #[test]
    fn fields_are_filled_in_and_json_is_escaped() {
        assert_eq!(rendered("{{ kind }} {{ url }} {{ type }}").unwrap(), "changed https://example.com/ test");
        assert_eq!(
            rendered("{\"text\": {{ difference|tojson }}}").unwrap(),
            r#"{"text": "-before\n+after\n"}"#
        );
        assert_eq!(rendered("({{ status }}{{ no_text }})").unwrap(), "()");
        let digest = Message::of_test("desk", 5, true).fields();
        let urls = render("{% for c in changes %}{{ c.url }};{% endfor %}", digest);
        assert_eq!(urls.unwrap(), "https://example.com/;");
    }

    #[test]
    fn templates_of_jinja_for_python_work() {
        for (template, expected) in [
            ("{{ ('word ' * 9)|truncate(15) }}", "word word..."),
            ("{{ ('word ' * 9)|truncate(length=15, end=' …') }}", "word word …"),
            ("{{ ('x' * 300)|truncate(killwords=true) }}", &format!("{}...", "x".repeat(252))),
            ("{{ url|urlencode }}", "https%3A//example.com/"),
            ("{{ url.split('/')[2].upper() }}", "EXAMPLE.COM"),
            ("{{ number }} of {{ old_number }}, {{ old_number - number }} less", "15 of 20, 5 less"),
        ] {
            assert_eq!(rendered(template).unwrap(), expected, "{template}");
        }
        assert!(rendered("{{ url.no_such_method() }}").unwrap_err().starts_with("line 1"));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        assert!(rendered("a\n{{ url ").unwrap_err().starts_with("line 2"));
        for text in
            ["{{ no_such_field }}", "{{ no_such_field|tojson }}", "{% if no_such_field %}x{% endif %}"]
        {
            assert_eq!(rendered(text).unwrap_err(), "this message has no field \"no_such_field\"");
        }
        assert!(rendered("{{ url|no_such_filter }}").is_err());
    }

    #[test]
    fn a_template_that_goes_on_for_ever_ends() {
        let endless = "{% for a in range(99999) %}{% for b in range(99999) %}x{% endfor %}{% endfor %}";
        assert!(rendered(endless).unwrap_err().contains("steps"));
    }

    #[test]
    fn a_message_ends_at_the_limit_and_not_after_it_is_made() {
        let large = format!("{{% for a in range(90000) %}}{}{{% endfor %}}", "x".repeat(8 << 10));
        assert!(rendered(&large).unwrap_err().contains("more than 4 MiB"));
        let mut text = Bounded(Vec::new());
        _ = io::Write::write(&mut text, &[0; MAX_RENDERED]).unwrap();
        assert!(io::Write::write(&mut text, &[0]).is_err() && text.0.len() == MAX_RENDERED);
    }
}

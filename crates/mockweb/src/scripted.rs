//! Pages made by script: the server sends a shell, whose script loads the page as data and puts it in place.
//!
//! Text and links are there only after scripts. What the web holds of a page is what it gave out as data.

/// Where the script of every shell is.
pub const SCRIPT_TARGET: &str = "/scripted.js";

/// What a script asks for instead of the page.
const AS_DATA: &str = "as=data";

/// The script: it waits a little, as such pages do.
pub const SCRIPT: &str = "\
setTimeout(async () => {
  const target = location.pathname + location.search;
  const answer = await fetch(target + (target.includes('?') ? '&' : '?') + 'as=data');
  if (!answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
  document.title = page.title;
  document.getElementById('app').replaceChildren(...page.body.childNodes);
}, 500);
";

/// The shell of every page.
pub const SHELL: &str = "<!DOCTYPE html>\n<html lang=\"en\"><head><title>Loading</title></head>\n\
                         <body><div id=\"app\"></div><script src=\"/scripted.js\"></script></body></html>\n";

/// The page whose data the target is; none if it is no data.
pub fn page_of(target: &str) -> Option<&str> {
    target.strip_suffix(AS_DATA).and_then(|page| page.strip_suffix(['?', '&']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_is_told_from_pages() {
        assert_eq!(page_of("/a?as=data"), Some("/a"));
        assert_eq!(page_of("/a?b=1&as=data"), Some("/a?b=1"));
        assert_eq!(page_of("/a?b=1"), None);
        assert!(SHELL.contains(SCRIPT_TARGET) && SCRIPT.contains(AS_DATA));
    }
}

//! The tokens of the console's operators.

use recrawl_console::Tokens;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::settings::Settings;

/// The tokens in the file `serve.tokens`; none if no file is configured, or it is empty.
///
/// # Errors
/// When the file cannot be read, others can read it, or a line is invalid.
pub fn tokens_of(settings: &Settings) -> Result<Option<Tokens>, Failure> {
    let path = &settings.config.serve.tokens;
    if path.as_os_str().is_empty() {
        return Ok(None);
    }
    Tokens::read(path).map(Some).map_err(|e| Failure::Usage(format!("serve.tokens: {e}")))
}

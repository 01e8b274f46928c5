//! Writes the files that are generated from the console's code (`make generated`).

use std::fs;
use std::path::Path;

fn main() -> std::io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (path, text) in recrawl_console::generated::files(&root)? {
        let file = root.join(path);
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(file, text)?;
        println!("{path}");
    }
    Ok(())
}

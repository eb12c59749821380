//! Makes a function of every snippet.

use std::fmt::Write;
use std::{env, fs, path::Path};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=..");
    let (mut functions, mut names) = (String::new(), String::new());
    for file in fs::read_dir("..")? {
        let path = file?.path();
        if path.extension().is_some_and(|extension| extension == "rs") {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            writeln!(functions, "fn {name}() {{\n{}\n}}", fs::read_to_string(&path)?)?;
            writeln!(names, "        \"{name}\" => {name}(),")?;
        }
    }
    let run = format!(
        "fn run(name: &str) {{\n    match name {{\n{names}        _ => panic!(\"no snippet {{name}}\"),\n    }}\n}}\n"
    );
    Ok(fs::write(Path::new(&env::var("OUT_DIR")?).join("snippets.rs"), functions + &run)?)
}

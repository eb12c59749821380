//! A comparison for a pull request.

use super::words::Sign;
use super::{rows, words};
use hodo_trace::{Diff, Gate};

/// The whole page.
pub fn page(diff: &Diff, gate: Option<&Gate>, all: bool) -> String {
    let mut out = format!("### hodo: {}\n\n", title(diff, gate));
    for (sign, words) in gate.map(words::gate).unwrap_or_default() {
        let sign = match sign {
            Sign::Good => "✅",
            Sign::Bad => "❌",
            Sign::Unclear => "❔",
        };
        out += &format!("- {sign} {}\n", escaped(&words));
    }
    for words in words::headlines(diff, gate) {
        out += &format!("- {}\n", escaped(&words));
    }
    let scopes: Vec<Vec<String>> = rows::scopes(diff, all)
        .into_iter()
        .map(|scope| row(&words::path(&scope.path), rows::scope(scope)))
        .collect();
    out += &table(&rows::SCOPE_TITLES, &scopes);
    let kernels: Vec<Vec<String>> = rows::kernels(diff, all)
        .into_iter()
        .map(|kernel| row(&kernel.name, rows::kernel(kernel)))
        .collect();
    if !kernels.is_empty() {
        out += "\n<details><summary>Kernels</summary>\n";
        out += &table(&rows::KERNEL_TITLES, &kernels);
        out += "\n</details>\n";
    }
    let forced = diff.obstacles.iter().map(|o| format!("compared all the same: {}", o.why));
    let notes: Vec<String> = forced.chain(diff.notes.iter().cloned()).collect();
    out += &format!("\n<sub>{}", escaped(&words::runs(diff)));
    notes.iter().for_each(|note| out += &format!(". {}", escaped(note)));
    out + "</sub>\n"
}

fn title(diff: &Diff, gate: Option<&Gate>) -> String {
    let found = gate.map_or(0, |gate| gate.regressions.len());
    let slower = diff.scopes.iter().filter(|s| s.judgement.is_slower()).count();
    let faster = diff.scopes.iter().filter(|s| s.judgement.is_faster()).count();
    match () {
        () if diff.judged == 0 => "not enough data".to_owned(),
        () if gate.is_some() && found > 0 => crate::term::text::plural(found as u64, "regression"),
        () if gate.is_some() => "no regression".to_owned(),
        () if slower + faster == 0 => "no change".to_owned(),
        () => format!("{slower} slower, {faster} faster"),
    }
}

fn row(name: &str, rest: Vec<String>) -> Vec<String> {
    let name = format!("`{}`", crate::term::text::safe(name).replace('`', "'"));
    std::iter::once(name).chain(rest.iter().map(|cell| escaped(cell))).collect()
}

fn table(titles: &[&str], rows: &[Vec<String>]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let line = |cells: &[String]| {
        format!(
            "| {} |\n",
            cells.iter().map(|c| c.replace('|', "\\|")).collect::<Vec<_>>().join(" | ")
        )
    };
    let titles: Vec<String> = titles.iter().map(|title| (*title).to_owned()).collect();
    let rule: Vec<String> =
        (0..titles.len()).map(|at| if at < 2 { "---" } else { "---:" }.to_owned()).collect();
    let body: String = rows.iter().map(|row| line(row)).collect();
    format!("\n{}{}{body}", line(&titles), line(&rule))
}

/// Text that Markdown and HTML leave as it is.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '*' | '_' | '`' | '[' | ']' | '~' | '#' | '\\' => out.extend(['\\', c]),
            '\n' | '\r' => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

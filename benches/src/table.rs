//! The table and the verdicts.

use crate::measure::Figures;

/// Prints the rows as a Markdown table.
pub fn print(figures: &[Figures]) {
    println!("| row | keeps | ns min | ns median | x two clock reads | quartiles | lost |");
    println!("|---|---|---:|---:|---:|---:|---:|");
    for f in figures {
        let (low, high) = f.quartiles();
        println!(
            "| {} | {} | {:.1} | {:.1} | {} | {low:.2} - {high:.2} | {} |",
            f.name,
            f.keeps,
            f.min_ns(),
            f.median_ns(),
            if f.lost == 0 { format!("{:.2}", f.median_ratio()) } else { "refused".into() },
            f.lost,
        );
    }
}

/// Says whether a figure keeps within its bar.
pub fn verdict(what: &str, figure: f64, limit: f64, unit: &str) {
    let word = if figure <= limit { "met" } else { "NOT MET" };
    println!("bar: {what}: {figure:.2}{unit}, limit {limit}{unit}: {word}");
}

/// Says whether a figure reaches its bar.
pub fn verdict_at_least(what: &str, figure: f64, limit: f64, unit: &str) {
    let word = if figure >= limit { "met" } else { "NOT MET" };
    println!("bar: {what}: {figure:.2}{unit}, at least {limit}{unit}: {word}");
}

//! Figures, printed and not asserted: what shipping costs a program, and what a collector takes.

use crate::recorder::{self, Orders};
use crate::server::Collector;
use crate::{Place, all_made, finished, ship, shipping, told, wait_for_done};
use hodo_trace::{ReadOptions, Run, packed};
use std::time::{Duration, Instant};

/// Nanoseconds for a scope, in turns with and without a shipper beside the program.
#[test]
#[ignore = "figures take a quiet machine; `make collector` runs it"]
fn what_shipping_costs_the_program() {
    let pairs = told("HODO_COLLECTOR_PAIRS", 7.0) as usize;
    let mut figures = [Vec::new(), Vec::new()];
    for turn in 0..2 * pairs {
        let place = Place::new("cost");
        let collector = Collector::start(place.path());
        let ships = turn % 2;
        let variables = match ships {
            0 => Vec::new(),
            _ => shipping(&collector.url(), &collector.token),
        };
        let orders = place.orders(0, crate::PER_SECOND, told("HODO_COLLECTOR_TURN", 3.0));
        let orders = Orders { measures_bursts: true, ..orders };
        let child = recorder::start(&place.run, &orders, &variables);
        figures[ships].push(all_made(vec![(orders, child)])[0].ns);
        if ships == 1 {
            wait_for_done(&place.run);
        }
    }
    let [without, with] = figures.map(median);
    println!(
        "a scope at {} a second: {without:.0} ns without a shipper, {with:.0} ns with one, medians of \
         {pairs} turns each: ratio {:.3}",
        crate::PER_SECOND,
        with / without
    );
}

/// Processor time of a collector for a run of many scopes.
#[test]
#[ignore = "figures take a quiet machine; `make collector` runs it"]
fn what_a_collector_takes_for_a_large_run() {
    let scopes = told("HODO_COLLECTOR_SCOPES", 10_000_000.0) as u64;
    let place = Place::new("large");
    let collector = Collector::start(place.path());
    let orders = Orders { count: scopes, ..place.orders(0, 0, 0.0) };
    let child = recorder::start(&place.run, &orders, &[]);
    all_made(vec![(orders, child)]);
    let run = Run::open(&place.run, &ReadOptions::default()).unwrap();
    let scopes = run.processes[0].spans.len();
    drop(run);
    let bytes = Run::summary(&place.run).bytes;
    let (before, began) = (collector.cpu(), Instant::now());
    finished(ship("push", &place.run, &collector.url(), &collector.token).spawn().unwrap());
    let (cpu, wall) = ((collector.cpu() - before).as_secs_f64(), began.elapsed().as_secs_f64());
    // The kernel counts hundredths of a second: too coarse for a rate of this alone.
    println!(
        "{scopes} scopes, {:.1} bytes each: {cpu:.2} s of processor time of the collector, {wall:.2} s \
         in all",
        bytes as f64 / scopes as f64
    );
    // What it does with a run that has ended comes on top, when nobody waits for it.
    let side = collector.run("large").join(packed::HIDDEN).join(packed::SIDE_FILE);
    let until = Instant::now() + crate::PATIENCE;
    while !side.exists() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(200));
    }
    match side.exists() {
        true => {
            let whole = (collector.cpu() - before).as_secs_f64();
            let rate = scopes as f64 / whole / 1e6;
            println!("{whole:.2} s with packing it: {rate:.1} million scopes a second and core");
        }
        false => println!("and it was not packed within {} s", crate::PATIENCE.as_secs()),
    }
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

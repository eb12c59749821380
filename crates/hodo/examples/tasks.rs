//! Many async tasks on a few threads, each with its own scopes.
//!
//! ```text
//! cargo run --release -p hodo --example tasks
//! hodo report
//! ```

use hodo::FutureExt;
use std::time::Duration;

fn main() -> std::io::Result<()> {
    let _hodo = hodo::init(hodo::Config { app: Some("tasks".into()), ..hodo::Config::from_env() });
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_time().build()?;
    runtime.block_on(serve().scoped("serve"));
    Ok(())
}

async fn serve() {
    let tasks: Vec<_> = (0..100).map(|i| tokio::spawn(request(i).scoped("request"))).collect();
    for (i, task) in tasks.into_iter().enumerate() {
        if let Ok(Err(error)) = task.await {
            println!("request {i}: {error}");
        }
    }
}

async fn request(number: u64) -> Result<u64, String> {
    let rows = query(number).await?;
    let _s = hodo::scope!("render", rows = rows);
    Ok(rows * 2)
}

#[hodo::scoped(index = number, err)]
async fn query(number: u64) -> Result<u64, String> {
    tokio::time::sleep(Duration::from_millis(number % 7)).await;
    if number % 25 == 24 { Err(format!("table {number} is locked")) } else { Ok(number % 10) }
}

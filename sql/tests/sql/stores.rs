//! Runs at addresses: files, a web server, S3.

use crate::made::{self, Folder};
use crate::program::{ID, folder, hodo_sql, packed, refusal, rows, stdout};
use crate::{samples, servers};
use std::path::Path;
use std::process::Output;
use stores::aws::AmazonS3Builder;
use stores::path::Path as Key;
use stores::{ObjectStore, ObjectStoreExt};

const QUERY: &str = "select run, path, count, total_ns from tree order by run, path";

/// Two packed runs with an odd name between them.
fn packs() -> (Folder, Folder) {
    let (recorded, packs) = (folder(&samples::training(100)), Folder::new());
    let first = packed(recorded.path(), packs.path());
    std::fs::rename(first, packs.path().join("50% of #1")).unwrap();
    packed(recorded.path(), packs.path());
    (recorded, packs)
}

#[test]
fn files_have_addresses() {
    let (dir, packs) = packs();
    let wanted = rows(dir.path(), &[QUERY]);
    let address = format!("file://{}/{ID}", packs.path().display());
    assert_eq!(rows(dir.path(), &[&address, QUERY]), wanted);
    // A recorded run has one too, and a folder of runs.
    let recorded = format!("file://{}/{ID}", dir.path().display());
    assert_eq!(rows(dir.path(), &[&recorded, QUERY]), wanted);
    let odd = format!("file://{}/50%25%20of%20%231", packs.path().display());
    assert_eq!(rows(dir.path(), &[&odd, QUERY]), wanted);
    let said = refusal(dir.path(), &["file:///no/such/folder", "select 1 as a"], 1);
    assert!(said.contains("is no folder"), "{said}");
}

#[test]
fn a_web_server_has_runs() {
    let (dir, packs) = packs();
    let Some(server) = servers::web(packs.path()) else { return };
    let address = format!("http://127.0.0.1:{}", server.port);
    let wanted = rows(dir.path(), &[QUERY]);
    assert_eq!(rows(dir.path(), &[&format!("{address}/{ID}"), QUERY]), wanted);
    assert_eq!(rows(dir.path(), &[&format!("{address}/50%25%20of%20%231/"), QUERY]), wanted);
    // Both at once are the same run, once; and beside another one.
    let count = "select count(*) as n from spans";
    assert_eq!(stdout(dir.path(), &[&address, count, "--format", "csv"]), "n\r\n42\r\n");
    made::write(dir.path(), "20261115-202000-train-bbbbbb", &[&samples::many_names(7)]);
    let both = [&*address, "20261115-202000", count, "--format", "csv"];
    assert_eq!(stdout(dir.path(), &both), "n\r\n1042\r\n");
    let said = refusal(dir.path(), &[&format!("{address}/nothing"), "select 1 as a"], 1);
    assert!(said.contains("cannot list"), "{said}");
}

#[test]
fn a_web_server_that_gives_no_parts_of_files_is_told() {
    let (dir, packs) = packs();
    let server = servers::whole_files(packs.path());
    let address = format!("http://127.0.0.1:{}/{ID}", server.port);
    let said = refusal(dir.path(), &[&address, QUERY], 1);
    assert!(said.contains("gives no parts of files") && said.contains("nginx"), "{said}");
}

/// Puts every file of a folder into a bucket.
async fn upload(store: &dyn ObjectStore, folder: &Path, prefix: &str) {
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(folder).unwrap().to_str().unwrap();
            let bytes = std::fs::read(&path).unwrap();
            store.put(&Key::from(format!("{prefix}{name}")), bytes.into()).await.unwrap();
        }
    }
}

fn ask_s3(dir: &Path, port: u16, args: &[&str]) -> Output {
    hodo_sql(dir, args)
        .env("AWS_ENDPOINT", format!("http://127.0.0.1:{port}"))
        .env("AWS_ALLOW_HTTP", "true")
        .env("AWS_ACCESS_KEY_ID", "key")
        .env("AWS_SECRET_ACCESS_KEY", "secret")
        .env("AWS_REGION", "us-east-1")
        .output()
        .unwrap()
}

#[test]
fn a_bucket_has_runs() {
    let Some(server) = servers::s3() else { return };
    let (dir, packs) = packs();
    let endpoint = format!("http://127.0.0.1:{}", server.port);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let made = std::process::Command::new("curl")
        .args(["-sf", "-X", "PUT", &format!("{endpoint}/bucket")])
        .status()
        .unwrap();
    assert!(made.success());
    // As `hodo-sql` does for itself.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let store = AmazonS3Builder::new()
        .with_endpoint(&endpoint)
        .with_allow_http(true)
        .with_bucket_name("bucket")
        .with_region("us-east-1")
        .with_access_key_id("key")
        .with_secret_access_key("secret")
        .build()
        .unwrap();
    runtime.block_on(upload(&store, packs.path(), "team/runs/"));
    let printed = |args: &[&str]| {
        let output = ask_s3(dir.path(), server.port, args);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let local = stdout(dir.path(), &[QUERY, "--format", "csv"]);
    let run = format!("s3://bucket/team/runs/{ID}");
    assert_eq!(printed(&[&run, QUERY, "--format", "csv"]), local);
    let count = "select count(*) as n from spans";
    assert_eq!(printed(&["s3://bucket/team/runs/", count, "--format", "csv"]), "n\r\n42\r\n");
    // A bucket beside a folder.
    made::write(dir.path(), "20261115-202000-train-bbbbbb", &[&samples::many_names(7)]);
    let both = [&*run, "20261115-202000", count, "--format", "csv"];
    assert_eq!(printed(&both), "n\r\n1042\r\n");
    let nothing = ask_s3(dir.path(), server.port, &["s3://bucket/none", "select 1 as a"]);
    assert_eq!(nothing.status.code(), Some(1));
    let said = String::from_utf8_lossy(&nothing.stderr).into_owned();
    assert!(said.contains("no packed run at s3://bucket/none"), "{said}");
}

#[test]
fn a_store_that_is_not_there_is_told() {
    let dir = folder(&samples::training(100));
    let output = ask_s3(dir.path(), 1, &["s3://bucket/run", "select 1 as a"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot list s3://bucket/run/"));
}

#[test]
fn tables_of_a_newer_hodo_are_refused() {
    let (dir, packs) = packs();
    let file = packs.path().join(ID).join("tables/processes/000.parquet");
    let bytes = std::fs::read(&file).unwrap();
    // The version is the value of a key in the footer.
    let at = bytes.windows(11).rposition(|window| window == b"hodo.schema").unwrap();
    let value = at + 11 + bytes[at + 11..].iter().position(|&byte| byte == b'1').unwrap();
    let mut newer = bytes.clone();
    newer[value] = b'9';
    std::fs::write(&file, newer).unwrap();
    let run = packs.path().join(ID);
    let said = refusal(dir.path(), &[run.to_str().unwrap(), "select 1 as a"], 1);
    assert!(said.contains("version 9") && said.contains("newer hodo"), "{said}");
}

#[test]
fn a_table_that_is_gone_or_empty_is_told() {
    for spoil in [|file: &Path| std::fs::remove_file(file), |file: &Path| std::fs::write(file, "")]
    {
        let (dir, packs) = packs();
        let run = packs.path().join(ID);
        let spans = std::fs::read_dir(run.join("tables/spans")).unwrap().next().unwrap().unwrap();
        spoil(&spans.path()).unwrap();
        let run = run.to_str().unwrap();
        for query in ["select count(*) from spans", "select * from tree"] {
            let said = refusal(dir.path(), &[run, query], 1);
            assert!(said.contains("the table spans is damaged"), "{said}");
        }
        assert_eq!(rows(dir.path(), &[run, "select count(*) as n from marks"]).len(), 1);
    }
}

#[test]
fn a_footer_that_makes_no_sense_is_told() {
    let (dir, packs) = packs();
    let run = packs.path().join(ID);
    let spans = std::fs::read_dir(run.join("tables/spans")).unwrap().next().unwrap().unwrap();
    let mut bytes = std::fs::read(spans.path()).unwrap();
    let length = bytes.len() - 8;
    bytes[length..length + 4].copy_from_slice(&0x7fff_ffffu32.to_le_bytes());
    std::fs::write(spans.path(), bytes).unwrap();
    let said = refusal(dir.path(), &[run.to_str().unwrap(), "select count(*) from spans"], 1);
    assert!(said.contains("damaged") && !said.contains("backtrace"), "{said}");
}

#[test]
fn a_run_that_is_there_twice_is_asked_once() {
    let (dir, packs) = packs();
    let count = "select count(*) as n from spans";
    let (recorded, pack) = (dir.path().join(ID), packs.path().join(ID));
    let both = [recorded.to_str().unwrap(), pack.to_str().unwrap(), count, "--format", "csv"];
    let output = hodo_sql(dir.path(), &both).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "n\r\n42\r\n");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("is there twice"), "{said}");
}

#[test]
fn a_damaged_table_is_told() {
    let (dir, packs) = packs();
    let run = packs.path().join(ID);
    let spans =
        std::fs::read_dir(run.join("tables/spans")).unwrap().next().unwrap().unwrap().path();
    let bytes = std::fs::read(&spans).unwrap();
    std::fs::write(&spans, &bytes[..bytes.len() / 2]).unwrap();
    let said = refusal(dir.path(), &[run.to_str().unwrap(), "select count(*) from spans"], 1);
    assert!(said.contains("cannot read the run"), "{said}");
    // The other tables answer.
    assert_eq!(
        rows(dir.path(), &[run.to_str().unwrap(), "select count(*) as n from marks"]).len(),
        1
    );
}

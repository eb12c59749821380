//! Files that are imported, and the runs made of them as text.

use flate2::Compression;
use flate2::write::GzEncoder;
use hodo_convert::import::{self, ImportError, Imported, Options};
use hodo_trace::{Filter, ReadOptions, Run, WorkRows, tree};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A folder with sources and runs that goes away with the test.
pub struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    pub fn new() -> Place {
        Place { dir: tempfile::tempdir().unwrap() }
    }

    pub fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }

    pub fn runs(&self) -> PathBuf {
        self.dir.path().join("runs")
    }

    pub fn import(&self, paths: &[PathBuf]) -> Result<(Run, Imported), ImportError> {
        let imported = import::import(paths, &self.runs(), &Options::default(), &|_, _| ())?;
        let run = Run::open(&imported.folder, &ReadOptions::default()).unwrap();
        for process in &run.processes {
            assert!(process.damage.is_none(), "{:?}", process.damage);
            assert_eq!(process.account.lost_records() + process.account.unexplained, 0);
        }
        let marks: usize = run.processes.iter().map(|p| p.marks.len()).sum();
        assert_eq!(imported.totals.records.spans as usize, run.span_count());
        assert_eq!(imported.totals.records.marks as usize, marks);
        Ok((run, imported))
    }
}

/// Imports one file of these bytes.
pub fn import(name: &str, bytes: impl AsRef<[u8]>) -> (Run, Imported) {
    let place = Place::new();
    let file = place.file(name, bytes);
    place.import(&[file]).unwrap()
}

/// What an import of these bytes is refused with; nothing of it is left.
pub fn refused(name: &str, bytes: impl AsRef<[u8]>) -> String {
    let place = Place::new();
    let file = place.file(name, bytes);
    let error = place.import(&[file]).map(|_| ()).expect_err("it is refused").to_string();
    assert_eq!(std::fs::read_dir(place.runs()).unwrap().count(), 0, "left behind");
    error
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// An archive of these files.
pub fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (name, bytes) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, name, *bytes).unwrap();
    }
    gzip(&archive.into_inner().unwrap())
}

/// The tree as lines: name, count, total, and kernels where there are any.
pub fn shown(run: &Run) -> String {
    let tree = tree(run, &Filter::default());
    let line = |node: &hodo_trace::Node| {
        let kernels = node.gpu.as_ref().map_or(0, |gpu| gpu.all.kernels);
        let kernels = if kernels > 0 { format!(" {kernels} kernels") } else { String::new() };
        let total = node.total_ns.map_or(String::new(), |ns| format!(" {ns}"));
        let indent = "  ".repeat(node.depth as usize);
        format!("{indent}{} ×{}{total}{kernels}\n", node.name, node.count)
    };
    tree.nodes.iter().map(line).collect()
}

/// The only process's work.
pub fn work(run: &Run) -> &WorkRows {
    assert_eq!(run.processes.len(), 1);
    &run.processes[0].gpu.work
}

/// Marks as `name = value`, with the scope they were made in.
pub fn marks(run: &Run) -> Vec<String> {
    let mut all = Vec::new();
    for process in &run.processes {
        for (place, mark) in process.marks.iter().enumerate() {
            let scope = process.spans.row_of(mark.span).map(|row| process.span(row).name());
            let scope = scope.map_or(String::new(), |scope| format!(" in {scope}"));
            let attrs = process.mark_attrs.of(place).map(|a| a.display(&process.names));
            let attrs = attrs.map_or(String::new(), |attrs| format!(" {attrs}"));
            let summary = if mark.summary { " summary" } else { "" };
            let value = mark.value.display(&process.names);
            let name = process.names.text(mark.name);
            all.push(format!("{name} = {value}{scope}{summary}{attrs}"));
        }
    }
    all
}

/// The attributes of the first scope of a name, as `key=value`.
pub fn attrs(run: &Run, scope: &str) -> Vec<String> {
    let views = run.processes.iter().flat_map(|p| p.span_views());
    let span = views.into_iter().find(|s| s.name() == scope).expect("such a scope");
    let names = &span.process.names;
    let attrs = span.attrs().iter();
    attrs.map(|a| format!("{}={}", names.text(a.key), a.value.display(names))).collect()
}

/// A file of another tool, recorded on an H200.
pub fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

//! The page of a run beside what records it, and after that until Ctrl-C: `hodo run --open`, `hodo demo --open`.

use crate::output::{self, Failure};
use crate::signals::Signals;
use crate::view;
use hodo_server::Server;
use std::path::Path;
use std::thread::JoinHandle;
use tokio::sync::oneshot;

/// A page that is served beside the program.
pub struct Page {
    server: Option<Server>,
    url: String,
    serving: Option<Serving>,
}

struct Serving {
    thread: JoinHandle<std::io::Result<()>>,
    /// Dropped when nobody is to be answered any more.
    ended: oneshot::Sender<()>,
}

impl Page {
    /// Listens, and says where. The run's folder need not be there yet.
    pub fn new(run: &Path) -> Result<Page, Failure> {
        let id = run.file_name().unwrap_or_default().to_string_lossy();
        let server = view::listen(run.parent().unwrap_or(Path::new(".")), 0)?;
        let url = server.url(Some(&id));
        output::note(&format!("hodo: {url}"));
        view::remote::lines(server.port()).iter().for_each(|line| output::note(line));
        Ok(Page { server: Some(server), url, serving: None })
    }

    /// Begins to answer, on threads that leave signals to this one.
    pub fn start(&mut self) {
        let Some(server) = self.server.take() else { return };
        let (ended, heard) = oneshot::channel::<()>();
        let answer = move || server.run(async move { _ = heard.await });
        let signals = Signals::block();
        let thread = std::thread::Builder::new().name("hodo-page".into()).spawn(answer);
        signals.restore();
        self.serving = thread.ok().map(|thread| Serving { thread, ended });
        view::browser::open(&self.url);
    }

    /// The same, answering.
    pub fn started(mut self) -> Page {
        self.start();
        self
    }

    /// The program has ended: answers on until Ctrl-C if `stays`. One that came since signals were
    /// blocked counts.
    pub fn finish(self, stays: bool) {
        let Some(Serving { thread, ended }) = self.serving else { return };
        // A server that has failed listens no more.
        if stays && !thread.is_finished() {
            let signals = Signals::block();
            output::note(&format!("hodo: the page stays until Ctrl-C: {}", self.url));
            signals.wait_for_one();
        }
        drop(ended);
        let _ = thread.join();
    }
}

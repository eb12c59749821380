//! The page of a run beside what records it, and after that until Ctrl-C: `hodo run --open`, `hodo demo --open`.

use crate::output::{self, Failure};
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
    /// Says whether to stay when the program has ended.
    ended: oneshot::Sender<bool>,
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

    /// Begins to answer. Threads made here leave signals to the one that waits for the program.
    pub fn start(&mut self) {
        let Some(server) = self.server.take() else { return };
        let (ended, heard) = oneshot::channel();
        let answer = move || {
            server.run(async move {
                if heard.await.unwrap_or(false) {
                    // Only now, so that Ctrl-C was the program's before.
                    let _ = tokio::signal::ctrl_c().await;
                }
            })
        };
        let thread = std::thread::Builder::new().name("hodo-page".into()).spawn(answer);
        self.serving = thread.ok().map(|thread| Serving { thread, ended });
        view::browser::open(&self.url);
    }

    /// The same, answering.
    pub fn started(mut self) -> Page {
        self.start();
        self
    }

    /// The program has ended: answers on until Ctrl-C if `stays`.
    pub fn finish(self, stays: bool) {
        let Some(Serving { thread, ended }) = self.serving else { return };
        if stays {
            output::note(&format!("hodo: the page stays until Ctrl-C: {}", self.url));
        }
        // A server that has failed listens no more.
        let _ = ended.send(stays);
        let _ = thread.join();
    }
}

//! Opening an address in the browser.

use std::process::{Command, Stdio};

/// Opens `url`, if there is a way to; the address is printed in any case.
pub fn open(url: &str) {
    if !has_display() {
        return;
    }
    let chosen = std::env::var("BROWSER").ok().filter(|browser| !browser.is_empty());
    // As others read it: several with colons between, of which the first that works.
    let browsers = chosen.iter().flat_map(|all| all.split(':')).chain(["xdg-open"]);
    for browser in browsers {
        let started = Command::new(browser)
            .arg(url)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        if let Ok(mut child) = started {
            // Someone has to wait for it, or it stays as a zombie.
            std::thread::spawn(move || child.wait());
            return;
        }
    }
}

/// Whether a browser would be seen; one that was chosen is.
fn has_display() -> bool {
    ["BROWSER", "DISPLAY", "WAYLAND_DISPLAY"]
        .iter()
        .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

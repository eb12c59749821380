//! The page's files put into one.

use crate::page::Files;

/// Nothing is loaded, nothing is asked.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

/// The page before and after its answers.
pub struct Page {
    before: String,
    after: String,
}

/// The page with its scripts and styles inside it.
pub fn page(files: &Files, app: &str) -> Result<Page, String> {
    let text = |name: &str| {
        let content = files.get(name).ok_or_else(|| format!("the page lacks its file {name}"))?;
        String::from_utf8(content.to_vec())
            .map_err(|_| format!("the page's file {name} is no text"))
    };
    let mut html = text("index.html")?;
    while let Some(link) = Tag::find(&html, "<link rel=\"stylesheet\"", "href") {
        // In a style sheet only its end tag ends it.
        let style = text(&link.file)?.replace("</style", "<\\/style");
        html.replace_range(link.from..link.to, &format!("<style>{style}</style>"));
    }
    let mut scripts = String::new();
    while let Some(script) = Tag::find(&html, "<script type=\"module\" src", "src") {
        let code = text(&script.file)?.replace("</script", "<\\/script").replace("<!--", "<\\!--");
        let end = html[script.to..].find("</script>").map_or(script.to, |at| script.to + at + 9);
        html.replace_range(script.from..end, "");
        scripts += &format!("<script type=\"module\">{code}</script>\n");
    }
    let policy = format!("<meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n");
    let title = format!("<title>{} · hodo</title>", escaped(app));
    let html = html.replacen(
        "<meta charset=\"utf-8\">",
        &format!("<meta charset=\"utf-8\">\n{policy}"),
        1,
    );
    let html = html.replacen("<title>hodo</title>", &title, 1);
    let end = html.rfind("</body>").or(html.rfind("</html>")).unwrap_or(html.len());
    Ok(Page { before: html[..end].to_owned(), after: scripts + &html[end..] })
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

impl Page {
    /// Bytes without the answers.
    pub fn len(&self) -> usize {
        self.before.len() + self.after.len() + 128
    }

    /// The whole file. No name in a run can end the element that holds it.
    pub fn with(self, answers: &str) -> String {
        let answers = answers.replace('<', "\\u003c");
        let Page { before, after } = self;
        format!(
            "{before}<script type=\"application/json\" id=\"hodo-inline\">{answers}</script>\n{after}"
        )
    }
}

/// A tag that names a file.
struct Tag {
    from: usize,
    to: usize,
    file: String,
}

impl Tag {
    fn find(html: &str, begin: &str, attribute: &str) -> Option<Tag> {
        let from = html.find(begin)?;
        let to = from + html[from..].find('>')? + 1;
        let tag = &html[from..to];
        let value = tag.split_once(&format!("{attribute}=\""))?.1;
        Some(Tag { from, to, file: value.split('"').next()?.to_owned() })
    }
}

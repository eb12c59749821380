//! Which run a span is in: one for each sender, service, instance and day.

use super::{PREFIX, Refusal};
use hodo_convert::import::{otlp_text, stamp};
use hodo_convert::otlp::proto::{Request as Spans, Resource, ResourceSpans, ScopeSpans};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// Nanoseconds of a day.
const DAY_NS: u64 = 86_400_000_000_000;
/// Days that the spans of one sender may be of in one request.
const MOST_DAYS: usize = 4;
/// Runs that the spans of one request may be of: each has files of its own.
const MOST_RUNS: usize = 1024;
/// Characters of a service's name that are in a run's id.
const NAME_CHARS: usize = 48;
/// Bytes of the hash in a run's id.
const HASH_BYTES: usize = 8;
/// A service that does not say its name.
const UNNAMED: &str = "unknown_service";

/// The spans of a request by the run they belong to, with the service's name.
pub(super) fn by_run(
    request: Spans,
    owner: &str,
) -> Result<BTreeMap<String, (String, Spans)>, Refusal> {
    let mut runs: BTreeMap<String, (String, Spans)> = BTreeMap::new();
    for of in request.resource_spans {
        let (app, instance) = service(of.resource.as_ref());
        let mut days: BTreeMap<u64, Vec<ScopeSpans>> = BTreeMap::new();
        for library in of.scope_spans {
            let mut own: BTreeMap<u64, ScopeSpans> = BTreeMap::new();
            for span in library.spans {
                let day = span.start_time_unix_nano / DAY_NS;
                let empty = || ScopeSpans { scope: library.scope.clone(), spans: Vec::new() };
                own.entry(day).or_insert_with(empty).spans.push(span);
                // Each has a copy of what is said of them all.
                if own.len() > MOST_DAYS {
                    return Err(many_days());
                }
            }
            own.into_iter().for_each(|(day, spans)| days.entry(day).or_default().push(spans));
        }
        if days.len() > MOST_DAYS {
            return Err(many_days());
        }
        for (day, scope_spans) in days {
            let run = id(&app, day, &[&app, &instance, owner]);
            if runs.len() >= MOST_RUNS && !runs.contains_key(&run) {
                let words =
                    format!("spans of more than {MOST_RUNS} instances and days in one request");
                return Err(Refusal::bad(format!("{words}; send fewer at a time")));
            }
            let (_, request) = runs.entry(run).or_insert_with(|| (app.clone(), Spans::default()));
            let resource = of.resource.clone();
            request.resource_spans.push(ResourceSpans { resource, scope_spans });
        }
    }
    Ok(runs)
}

fn many_days() -> Refusal {
    Refusal::bad(format!(
        "spans of more than {MOST_DAYS} days in one request; send fewer at a time"
    ))
}

/// The name of the service, and which of its instances.
fn service(resource: Option<&Resource>) -> (String, String) {
    let attributes = resource.map_or(&[][..], |resource| &resource.attributes);
    let text = |key: &str| otlp_text(attributes, key).filter(|text| !text.is_empty());
    let app = text("service.name").unwrap_or(UNNAMED).to_owned();
    let instance = text("service.instance.id").or_else(|| text("host.name")).unwrap_or_default();
    (app, instance.to_owned())
}

/// A run's id: the service, the day, and what tells it from others.
fn id(app: &str, day: u64, parts: &[&str]) -> String {
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let name: String =
        app.chars().take(NAME_CHARS).map(|c| if is_plain(&c) { c } else { '_' }).collect();
    let mut hash = Sha256::new();
    for part in parts {
        // With their lengths, so that no two lists of parts are one text.
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    let hash: String =
        hash.finalize().iter().take(HASH_BYTES).map(|byte| format!("{byte:02x}")).collect();
    let name = name.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
    let name = if name.is_empty() { "service" } else { name };
    let date = stamp(day * DAY_NS);
    let date = date.split('-').next().unwrap_or_default();
    format!("{PREFIX}{name}-{date}-{hash}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use hodo_convert::otlp::proto::{Any, AnyValue, KeyValue, Span};

    fn request(service: &str, days: impl Iterator<Item = u64>) -> Spans {
        let value = Some(AnyValue { value: Some(Any::Text(service.to_owned())) });
        let attributes = vec![KeyValue { key: "service.name".to_owned(), value }];
        let span = |day| Span { start_time_unix_nano: day * DAY_NS + 1, ..Span::default() };
        let scope_spans = vec![ScopeSpans { scope: None, spans: days.map(span).collect() }];
        let resource = Some(Resource { attributes });
        Spans { resource_spans: vec![ResourceSpans { resource, scope_spans }] }
    }

    fn ids(request: Spans, owner: &str) -> Vec<String> {
        by_run(request, owner).map(|runs| runs.into_keys().collect()).unwrap_or_default()
    }

    #[test]
    fn spans_of_few_days_are_taken_and_of_many_refused() {
        let most = MOST_DAYS as u64;
        assert_eq!(ids(request("a", 19_675..19_675 + most), "owner").len(), MOST_DAYS);
        let refused = by_run(request("a", 0..most + 1), "owner").err();
        assert_eq!(refused.map(|refusal| refusal.status.as_u16()), Some(400));
        // In several libraries they are no fewer.
        let mut split = request("a", 0..most);
        let more = request("a", most..most + 1).resource_spans[0].scope_spans.clone();
        split.resource_spans[0].scope_spans.extend(more);
        assert!(by_run(split, "owner").is_err());
    }

    #[test]
    fn services_of_many_names_are_refused_before_any_is_kept() {
        let one = |n: usize| request(&format!("s{n}"), 0..1).resource_spans;
        let request = |count| Spans { resource_spans: (0..count).flat_map(one).collect() };
        assert_eq!(ids(request(MOST_RUNS), "owner").len(), MOST_RUNS);
        assert!(by_run(request(MOST_RUNS + 1), "owner").is_err());
    }

    #[test]
    fn every_sender_has_runs_of_its_own() {
        let of = |service: &str, owner: &str| ids(request(service, 19_675..19_676), owner);
        assert_eq!(of("api", "one"), of("api", "one"));
        assert_ne!(of("api", "one"), of("api", "two"));
        assert_ne!(of("a/i", "one"), of("a_i", "one"), "the same letters in the id");
        assert!(of("api", "one")[0].starts_with("otlp~api-20231114-"), "{:?}", of("api", "one"));
        assert!(super::super::is_id(&of("\u{202e}<script>", "one")[0]));
    }
}

//! `http_get` and `http_send`: what does an API answer? Which hosts there are and which credential goes along is the
//! operator's word; nothing here ever sees one.

use hermes_sdk::{Answer, Failure, Http, Kind, Request, Response, Result, tool};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Redirections that are followed. Each is a request of its own, judged like the first.
const REDIRECTS: usize = 5;
/// Fields of an answer's head that tell a caller what to do next.
const TELLING: &[&str] = &[
    "content-type",
    "content-language",
    "etag",
    "last-modified",
    "link",
    "location",
    "retry-after",
    "x-ratelimit-limit",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
];
/// Fields of a request's head that are for one host alone.
const PERSONAL: &[&str] = &["authorization", "cookie", "x-api-key"];

/// Read what a URL names: an answer of an API, or a page. JSON comes as `json`, other text as `text`. A status other than 2xx is an error that still has the answer. Redirections are followed; each host has to be one that is granted. If the operator has a credential for the host, it is sent along, and you never see it.
#[tool]
pub(crate) fn http_get(
    /// Begins with https:// or http://.
    #[arg(min_length = 8, max_length = 8192)]
    url: String,
    /// Further fields of the request's head, such as accept; no credentials, they are the operator's.
    headers: Option<BTreeMap<String, String>>,
    /// Most bytes of the answer to read.
    #[arg(default = 1_048_576_u32, min = 1, max = 8_388_608)]
    max_bytes: u32,
    http: &Http,
) -> Result<Answer> {
    let mut request = with_headers(Request::get(&url), headers.unwrap_or_default());
    request.most = max_bytes as usize;
    let mut asked = vec![request.url.clone()];
    loop {
        let response = http.send(&request)?;
        let location = response.header("location").filter(|_| matches!(response.status, 301 | 302 | 303 | 307 | 308));
        let Some(next) = location.map(|location| resolved(&request.url, location)) else {
            return answer(&request.url, response);
        };
        if asked.len() > REDIRECTS || asked.contains(&next) {
            let why = format!("`{url}` redirects without end");
            return Err(Failure::new(Kind::Upstream, why).reason("too_many_redirects"));
        }
        if origin(&next) != origin(&request.url) {
            request.headers.retain(|(name, _)| !PERSONAL.contains(&name.to_lowercase().as_str()));
        }
        asked.push(next.clone());
        request.url = next;
    }
}

/// Change something by an API: send JSON or text to a URL. A status other than 2xx is an error that still has the answer. Redirections are not followed. If the operator has a credential for the host, it is sent along, and you never see it.
#[tool]
pub(crate) fn http_send(
    /// Begins with https:// or http://.
    #[arg(min_length = 8, max_length = 8192)]
    url: String,
    /// What is to happen there.
    #[arg(choices = ["POST", "PUT", "PATCH", "DELETE"])]
    method: String,
    /// The body, as JSON.
    json: Option<Value>,
    /// The body, as text; not beside json.
    text: Option<String>,
    /// Further fields of the request's head; no credentials, they are the operator's.
    headers: Option<BTreeMap<String, String>>,
    http: &Http,
) -> Result<Answer> {
    let mut request = with_headers(Request::new(&method, &url), headers.unwrap_or_default());
    match (json, text) {
        (Some(_), Some(_)) => return Err(Failure::invalid("`json` and `text` exclude each other")),
        (Some(json), None) => request = request.json(&json),
        (None, Some(text)) => request.body = Some(text.into_bytes()),
        (None, None) => {}
    }
    answer(&url, http.send(&request)?)
}

fn with_headers(mut request: Request, headers: BTreeMap<String, String>) -> Request {
    request.headers = headers.into_iter().collect();
    if request.headers.iter().all(|(name, _)| !name.eq_ignore_ascii_case("user-agent")) {
        request.headers.push(("user-agent".to_owned(), "hermes-dispatch".to_owned()));
    }
    request
}

/// The answer, or the failure that has it.
fn answer(url: &str, response: Response) -> Result<Answer> {
    let mut facts = Map::from_iter([
        ("status".to_owned(), json!(response.status)),
        ("url".to_owned(), json!(url)),
        ("truncated".to_owned(), json!(response.truncated)),
    ]);
    let telling = response.headers.iter().filter(|(name, _)| TELLING.contains(&name.as_str()));
    let telling: Map<String, Value> = telling.map(|(name, value)| (name.clone(), json!(value))).collect();
    facts.insert("headers".to_owned(), Value::Object(telling));
    let is_json = response.header("content-type").is_some_and(|type_| type_.contains("json"));
    let parsed = response.json().ok().filter(|_| is_json && !response.truncated);
    match (parsed, std::str::from_utf8(&response.body)) {
        (Some(json), _) => drop(facts.insert("json".to_owned(), json)),
        (None, Ok(text)) => drop(facts.insert("text".to_owned(), json!(text))),
        // A character may be cut at the end.
        (None, Err(error)) if response.truncated && error.error_len().is_none() => {
            let text = String::from_utf8_lossy(&response.body[..error.valid_up_to()]).into_owned();
            facts.insert("text".to_owned(), json!(text));
        }
        (None, Err(_)) => drop(facts.insert("bytes".to_owned(), json!(response.body.len()))),
    }
    let mut answer = Answer { facts: Some(facts), ..Answer::default() };
    if std::str::from_utf8(&response.body).is_err() && !response.truncated {
        let media_type = response.header("content-type").unwrap_or("application/octet-stream").to_owned();
        answer = answer.part(hermes_sdk::Part::Bytes(response.body.clone(), media_type));
    }
    match response.is_success() {
        true => Ok(answer),
        false => Err(refusal(url, &response).partial(answer)),
    }
}

/// What a status other than 2xx means to a caller.
fn refusal(url: &str, response: &Response) -> Failure {
    let status = response.status;
    let host = url.split('/').nth(2).unwrap_or_default();
    let (kind, hint) = match status {
        401 | 403 => (Kind::Denied, Some("the operator's credential for this host is missing or does not allow it")),
        404 | 410 => (Kind::ToolFailed, None),
        408 | 504 => (Kind::Timeout, None),
        409 | 412 => (Kind::Conflict, Some("read it again and repeat the change on what is there now")),
        413 => (Kind::TooLarge, None),
        400 | 405..=499 if status != 429 => (Kind::ToolFailed, Some("`data` says what the server did not like")),
        429 | 503 => (Kind::Unavailable, Some("wait as long as `retry-after` says, then ask again")),
        300..=399 => (Kind::ToolFailed, Some("the answer is elsewhere; `location` in `data` says where")),
        _ => (Kind::Upstream, None),
    };
    let failure = Failure::new(kind, format!("`{host}` answered with status {status}")).reason("http_status");
    let failure = if matches!(status, 300..=499) { failure } else { failure.sent() };
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// Scheme, host and port of a URL, as they are written.
fn origin(url: &str) -> String {
    url.split('/').take(3).collect::<Vec<_>>().join("/").to_lowercase()
}

/// Where a redirection leads (RFC 3986, 5.2, for what servers send).
fn resolved(base: &str, location: &str) -> String {
    let location = location.split('#').next().unwrap_or_default();
    let scheme = base.split("://").next().unwrap_or("https");
    if location.contains("://") {
        return location.to_owned();
    }
    if let Some(rest) = location.strip_prefix("//") {
        return format!("{scheme}://{rest}");
    }
    if location.starts_with('/') {
        return format!("{}{location}", origin(base));
    }
    let path = base.split(['?', '#']).next().unwrap_or_default();
    if location.starts_with('?') || location.is_empty() {
        return format!("{path}{location}");
    }
    let start = scheme.len() + 3;
    let folder = path[start..].rfind('/').map_or(format!("{path}/"), |at| path[..=start + at].to_owned());
    format!("{folder}{location}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use hermes_sdk::native::World;

    fn get(world: World, url: &str) -> (Result<Answer>, World) {
        world.run(|| http_get(url.into(), None, 1000, &Http::for_test()))
    }

    #[test]
    fn json_comes_as_json_and_other_text_as_text() {
        let mut world = World::new().answer("GET", "https://a.test/x", 200, r#"{"n":1}"#);
        let answers = world.answers.get_mut("GET https://a.test/x").unwrap();
        answers[0].headers.push(("content-type".into(), "application/json; charset=utf-8".into()));
        let facts = get(world, "https://a.test/x").0.unwrap().facts.unwrap();
        assert_eq!((&facts["json"], &facts["status"]), (&json!({ "n": 1 }), &json!(200)));
        let world = World::new().answer("GET", "https://a.test/y", 200, "hello");
        assert_eq!(get(world, "https://a.test/y").0.unwrap().facts.unwrap()["text"], "hello");
    }

    #[test]
    fn a_status_that_is_no_success_is_a_failure_with_the_answer() {
        for (status, kind) in
            [(404, Kind::ToolFailed), (401, Kind::Denied), (429, Kind::Unavailable), (500, Kind::Upstream)]
        {
            let world = World::new().answer("GET", "https://a.test/", status, "no such thing");
            let failure = get(world, "https://a.test/").0.unwrap_err();
            assert_eq!((failure.kind, failure.reason.as_deref()), (kind, Some("http_status")), "{status}");
            assert_eq!(failure.partial.unwrap().facts.unwrap()["text"], "no such thing");
        }
    }

    #[test]
    fn what_is_for_one_host_is_not_taken_to_another() {
        let mut world =
            World::new().answer("GET", "https://a.test/1", 302, "").answer("GET", "https://b.test/2", 200, "there");
        let answers = world.answers.get_mut("GET https://a.test/1").unwrap();
        answers[0].headers.push(("location".into(), "//b.test/2#part".into()));
        let headers =
            BTreeMap::from([("Authorization".to_owned(), "mine".to_owned()), ("accept".to_owned(), "x".to_owned())]);
        let (answer, world) = world.run(|| http_get("https://a.test/1".into(), Some(headers), 10, &Http::for_test()));
        assert_eq!(answer.unwrap().facts.unwrap()["text"], "there");
        let names: Vec<&str> = world.requests[1].headers.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["accept", "user-agent"]);
    }

    #[test]
    fn redirections_lead_where_servers_mean() {
        let check = |base: &str, location: &str, expect: &str| assert_eq!(resolved(base, location), expect);
        check("https://a.test/x/y?q", "z", "https://a.test/x/z");
        check("https://a.test", "z", "https://a.test/z");
        check("https://a.test/x", "/z?r#f", "https://a.test/z?r");
        check("http://a.test/x", "//b.test/", "http://b.test/");
        check("http://a.test/x?q", "?r", "http://a.test/x?r");
        check("http://a.test/x", "https://b.test/y", "https://b.test/y");
    }
}

//! How does a person decide with a browser? One plain page, on a listener and with a credential of its own: what waits,
//! each request whole, and a form for yes and no. It works without script, and nothing an agent holds gets in. Must not
//! know how a call is made: it reads and writes the table of questions, and the call that waits goes on by itself. With the
//! same credential a monitor reads the counts of this process at `/metrics`.
//!
//! Checked before anything else: that the server is not ending (503), `Host` (403), `Origin` (403), then the credential:
//! an operator's token as `Authorization: Bearer …`, or the cookie that the page gives for it. A form that comes with the
//! cookie needs `Origin` and the mark that only the page itself could have written into it.

mod credential;
mod form;
mod view;

use crate::http::accept::{self, Answering};
use crate::http::head::{self, Own};
use crate::http::{Answer, Listening, private_address, refuse};
use crate::{ServeError, now_ms};
use credential::{Entered, Seal};
use form::{Decision, Form};
use hermes_runtime::error::{Error, Kind};
use hermes_runtime::permission::approval::desk;
use hermes_runtime::permission::approval::store::Verdict;
use http::header::{self, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper_util::server::graceful::GracefulShutdown;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Where a monitor reads the counts of this process.
const METRICS: &str = "/metrics";
/// Connections at once. People open few.
const CONNECTIONS: usize = 64;
/// How long the last answers may take to be written.
const LAST_WRITES: Duration = Duration::from_secs(2);
/// Questions that are listed at most.
const LISTED: u32 = 500;
/// Decided questions that are listed at most.
const DECIDED: u32 = 20;
/// What a page may do: show itself and send its own forms. No script, no frame, nothing from elsewhere.
const POLICY: &str =
    "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
/// How the page looks.
const STYLE: &str = include_str!("../templates/style.css");

/// A person who may decide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operator {
    /// The credential's own id, never used again for another one.
    pub id: Arc<str>,
    /// What the records call the person.
    pub name: Arc<str>,
}

/// How somebody says that they are an operator.
#[derive(Clone, Copy, Debug)]
pub enum Shown<'a> {
    /// By the token itself.
    Token(&'a str),
    /// By the id of a credential that was shown before.
    Id(&'a str),
}

/// Says which operator that is; nothing for a credential that counts no more. It is asked for each request.
pub type Operators = Arc<dyn Fn(Shown<'_>) -> Option<Operator> + Send + Sync>;

/// Everything that requests share. Lifetime: the server.
struct Page {
    runtime: Arc<hermes_runtime::Runtime>,
    operators: Operators,
    own: Own,
    is_encrypted: bool,
    seal: Seal,
    stop: CancellationToken,
}

/// Serves the page for approvals until `stop` is cancelled.
///
/// # Errors
/// If the listener's own address is not known, others could listen to what is said there, or the system has no random
/// bytes.
pub async fn serve_approvals(
    runtime: Arc<hermes_runtime::Runtime>,
    operators: Operators,
    listening: Listening,
    stop: CancellationToken,
) -> Result<(), ServeError> {
    let Listening { listener, certificate, names } = listening;
    let address = private_address(&listener, certificate.as_ref())?;
    let page = Arc::new(Page {
        runtime,
        operators,
        own: Own::new(address, &names, certificate.is_some()),
        is_encrypted: certificate.is_some(),
        seal: Seal::new().map_err(|error| ServeError::Broken(error.to_string()))?,
        stop: stop.clone(),
    });
    let open = GracefulShutdown::new();
    tokio::select! {
        () = stop.cancelled() => {}
        () = accept::accept(&listener, certificate.as_ref(), CONNECTIONS, &page, (&open, &stop)) => {}
    }
    drop(listener);
    let _ = tokio::time::timeout(LAST_WRITES, open.shutdown()).await;
    Ok(())
}

/// What a request is answered with.
type Answered = Result<Answer, Box<Answer>>;

impl Answering for Page {
    async fn answer(&self, request: Request<Incoming>) -> Answer {
        let mut answer = self.serve(request).await.unwrap_or_else(|refusal| *refusal);
        let headers = answer.headers_mut();
        for (name, value) in [
            (header::CONTENT_SECURITY_POLICY, POLICY),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (header::X_FRAME_OPTIONS, "DENY"),
            // With `no-referrer` a browser would send its own forms with the origin `null`.
            (header::REFERRER_POLICY, "same-origin"),
            (header::CACHE_CONTROL, "no-store"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        headers.insert("cross-origin-opener-policy", HeaderValue::from_static("same-origin"));
        answer
    }
}

impl Page {
    async fn serve(&self, request: Request<Incoming>) -> Answered {
        self.admit(&request)?;
        let (parts, body) = request.into_parts();
        let path = parts.uri.path().to_owned();
        if (&parts.method, path.as_str()) == (&Method::GET, "/style.css") {
            return Ok(text(StatusCode::OK, "text/css; charset=utf-8", STYLE.to_owned()));
        }
        let head = Request::from_parts(parts, ());
        if (head.method(), path.as_str()) == (&Method::POST, "/login") {
            return self.login(&head, body).await;
        }
        if path == METRICS {
            return self.metrics(&head);
        }
        let Some(entered) = self.entered(&head) else {
            return Ok(html(StatusCode::UNAUTHORIZED, &view::Login { why: "" }));
        };
        match (head.method(), path.strip_prefix("/request/")) {
            (&Method::GET, None) if path == "/" => self.list(&entered).await,
            (&Method::GET, Some(id)) => self.show(&entered, id, StatusCode::OK, "").await,
            (&Method::POST, Some(id)) => {
                let form = self.form(&head, body, &entered).await?;
                self.decide(&entered, id, &form).await
            }
            (&Method::POST, None) if path == "/logout" => {
                self.form(&head, body, &entered).await?;
                let mut answer = see_other("/");
                self.set_cookie(&mut answer, "", Duration::ZERO);
                Ok(answer)
            }
            _ => Ok(html(StatusCode::NOT_FOUND, &view::Said { title: "Not found", text: "there is no such page" })),
        }
    }

    /// What a monitor reads. It says which tools are called and refused, so nobody sees it who may not decide.
    fn metrics(&self, head: &Request<()>) -> Answered {
        let Some(_operator) = self.entered(head) else {
            let mut answer = refuse(StatusCode::UNAUTHORIZED, "an operator's token is needed: Authorization: Bearer …");
            answer.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            return Err(answer);
        };
        if head.method() != Method::GET {
            return Err(refuse(StatusCode::METHOD_NOT_ALLOWED, "the counts can only be read"));
        }
        match self.runtime.metrics() {
            Some(counts) => Ok(text(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", counts)),
            None => Err(refuse(StatusCode::NOT_FOUND, "this program was built without metrics")),
        }
    }

    /// Judges where a request comes from.
    fn admit(&self, request: &Request<Incoming>) -> Result<(), Box<Answer>> {
        if self.stop.is_cancelled() {
            return Err(refuse(StatusCode::SERVICE_UNAVAILABLE, "the server is ending"));
        }
        if !self.own.is_meant(request) {
            return Err(refuse(StatusCode::FORBIDDEN, "the Host header is not this server's own address"));
        }
        if !self.own.is_origin(request) {
            return Err(refuse(StatusCode::FORBIDDEN, "no page of another origin may decide anything here"));
        }
        Ok(())
    }

    /// Who sends a request, if it shows a credential that counts.
    fn entered(&self, request: &Request<()>) -> Option<Entered> {
        if let Some(token) = head::token(request) {
            return (self.operators)(Shown::Token(token)).map(Entered::Bearer);
        }
        let cookie = credential::cookie(request)?;
        let id = self.seal.open(&cookie, now_ms())?;
        (self.operators)(Shown::Id(&id)).map(|operator| Entered::Cookie(operator, cookie))
    }

    async fn login(&self, head: &Request<()>, body: Incoming) -> Answered {
        // A browser that does not say where a form comes from could be sending anybody's.
        if !head.headers().contains_key(header::ORIGIN) {
            return Err(refuse(StatusCode::FORBIDDEN, "a form without Origin is not taken"));
        }
        let form = Form::read(head, body).await?;
        let Some(operator) = (self.operators)(Shown::Token(form.get("token").unwrap_or_default().trim())) else {
            let why = "this is no operator's token that counts";
            return Ok(html(StatusCode::UNAUTHORIZED, &view::Login { why }));
        };
        let mut answer = see_other("/");
        let cookie = self.seal.close(&operator.id, now_ms());
        self.set_cookie(&mut answer, &cookie, credential::LIFE);
        Ok(answer)
    }

    fn set_cookie(&self, answer: &mut Answer, cookie: &str, life: Duration) {
        let secure = if self.is_encrypted { "; Secure" } else { "" };
        let name = credential::COOKIE;
        let text = format!("{name}={cookie}; Path=/; HttpOnly; SameSite=Strict; Max-Age={}{secure}", life.as_secs());
        if let Ok(value) = HeaderValue::from_str(&text) {
            answer.headers_mut().insert(header::SET_COOKIE, value);
        }
    }

    /// Reads a form, which has to come from the page itself where a cookie alone would be sent along by any page.
    async fn form(&self, head: &Request<()>, body: Incoming, entered: &Entered) -> Result<Form, Box<Answer>> {
        let form = Form::read(head, body).await?;
        if let Entered::Cookie(_, cookie) = entered {
            let has_origin = head.headers().contains_key(header::ORIGIN);
            if !has_origin || !self.seal.is_mark(cookie, form.get("mark").unwrap_or_default()) {
                return Err(refuse(
                    StatusCode::FORBIDDEN,
                    "this form does not come from the page itself; load it again",
                ));
            }
        }
        Ok(form)
    }

    async fn list(&self, entered: &Entered) -> Answered {
        let journal = self.runtime.journal();
        let waiting = desk::list(journal, false, LISTED).await.map_err(failed)?;
        let all = desk::list(journal, true, LISTED).await.map_err(failed)?;
        let list = view::List::new(self.around(entered), &waiting, &all, DECIDED as usize, now_ms());
        Ok(html(StatusCode::OK, &list))
    }

    async fn show(&self, entered: &Entered, id: &str, status: StatusCode, note: &str) -> Answered {
        let found = desk::find(self.runtime.journal(), id).await;
        match found {
            // Only a whole id is one: what is decided has to be what was looked at.
            Ok(parked) if parked.id == id => {
                Ok(html(status, &view::Whole::new(self.around(entered), &parked, note, now_ms())))
            }
            Err(error) if error.kind != Kind::InvalidInput => Err(failed(error)),
            Ok(_) | Err(_) => {
                Ok(html(StatusCode::NOT_FOUND, &view::Said { title: "Not found", text: "there is no such request" }))
            }
        }
    }

    async fn decide(&self, entered: &Entered, id: &str, form: &Form) -> Answered {
        let decision = match form.decision(now_ms()) {
            Ok(decision) => decision,
            Err(why) => return self.show(entered, id, StatusCode::BAD_REQUEST, why).await,
        };
        let journal = self.runtime.journal();
        let parked = match desk::find(journal, id).await {
            Ok(parked) if parked.id == id => parked,
            _ => return self.show(entered, id, StatusCode::NOT_FOUND, "").await,
        };
        let by = format!("operator {} on the page", entered.operator().name);
        let decided = match decision {
            Decision::Verdict(Verdict::Approve(_)) if !view::is_shown_whole(&parked) => {
                let why = "this request is too large for a page; `hermes-dispatch approvals approve` shows it whole";
                return self.show(entered, id, StatusCode::CONFLICT, why).await;
            }
            Decision::Verdict(verdict) => {
                let redeem = self.runtime.config().approval.expires_seconds;
                desk::decide(journal, &parked, verdict, &by, redeem).await
            }
            Decision::TakeBack => desk::forget(journal, &parked, &by).await,
        };
        match decided {
            Ok(()) => Ok(see_other(&format!("/request/{id}"))),
            Err(error) if error.kind == Kind::Conflict => {
                let why = "nothing was decided here: somebody else was first, or the time is over";
                self.show(entered, id, StatusCode::CONFLICT, why).await
            }
            Err(error) => Err(failed(error)),
        }
    }

    fn around(&self, entered: &Entered) -> view::Around {
        let mark = match entered {
            Entered::Cookie(_, cookie) => self.seal.mark(cookie),
            Entered::Bearer(_) => String::new(),
        };
        view::Around { operator: entered.operator().name.to_string(), mark }
    }
}

fn failed(error: Error) -> Box<Answer> {
    tracing::error!(%error, "the table of questions cannot be used");
    refuse(StatusCode::SERVICE_UNAVAILABLE, "the table of questions cannot be used now; the log says why")
}

fn html(status: StatusCode, page: &impl askama::Template) -> Answer {
    match page.render() {
        Ok(page) => text(status, "text/html; charset=utf-8", page),
        Err(error) => {
            tracing::error!(%error, "a page cannot be written");
            *refuse(StatusCode::INTERNAL_SERVER_ERROR, "the page cannot be written")
        }
    }
}

fn text(status: StatusCode, kind: &'static str, text: String) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from(text)).boxed());
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    answer
}

fn see_other(to: &str) -> Answer {
    let mut answer = text(StatusCode::SEE_OTHER, "text/plain; charset=utf-8", String::new());
    if let Ok(to) = HeaderValue::from_str(to) {
        answer.headers_mut().insert(header::LOCATION, to);
    }
    answer
}

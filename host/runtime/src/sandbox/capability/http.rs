//! What may a component send to other hosts? The host's side of `wasi:http`: a request is judged, its host resolved
//! once, the address checked and dialled; credentials are put in here and masked in what comes back.
//!
//! Bounds: the attempt's deadline, requests at a time and in all, bytes of heads and answers. Everything ends when the
//! store is dropped, save a look-up of a name that the system's resolver does not end; those have a number of their own.

mod answer;
pub(crate) mod dial;
mod fault;
mod playing;
mod request;
mod rules;
mod taped;

use super::secrets::{Reader, Secrets};
use crate::outbound::HttpSettings;
use crate::sandbox::State;
use crate::tape::Entry;
use playing::Played;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use taped::{Recording, Requests};
use wasmtime::component::Linker;
use wasmtime_wasi_http::p2::bindings::http::types::ErrorCode;
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody, WasiHttpCtx, WasiHttpCtxView, WasiHttpHooks, WasiHttpView};

/// Most bytes of one answer when nobody says anything.
const RESPONSE: u64 = 16 << 20;
/// Most bytes of all fields of a head.
const HEAD: usize = 64 << 10;
/// Requests of one attempt at the same time.
const AT_A_TIME: u32 = 16;
/// Lines about requests in the log of one attempt.
const NOTES: usize = 200;

/// How requests of all calls leave. Lifetime: the runtime.
pub(crate) struct Network {
    settings: HttpSettings,
    dialler: dial::Dialler,
}

impl Network {
    /// Reads the certificates of further authorities.
    ///
    /// # Errors
    /// Which file cannot be used, and why.
    pub(crate) fn of(settings: &HttpSettings) -> Result<Network, String> {
        Ok(Network { dialler: dial::Dialler::new(&settings.authorities)?, settings: settings.clone() })
    }
}

/// What one attempt may send. Lifetime: the attempt.
pub(crate) struct Http {
    /// Made when the component first asks for something of it, if it may send nothing; most never do.
    way: Option<Box<Way>>,
    /// How many bytes of it are recorded.
    recorded: Option<usize>,
}

struct Way {
    ctx: WasiHttpCtx,
    sending: Sending,
    secrets: Secrets,
}

/// The part of it that sends.
struct Sending {
    reach: Option<Reach>,
    /// How many requests are under way.
    open: Arc<AtomicU32>,
    notes: Notes,
    /// What was sent and answered, recorded or played.
    requests: Requests,
    /// What reads the secrets; renewed before each request.
    reader: Option<Reader>,
}

/// An attempt that may send requests at all.
#[derive(Clone)]
pub(crate) struct Reach {
    pub(crate) network: Arc<Network>,
    pub(crate) adapter: Arc<str>,
    /// Whether the call may change something.
    pub(crate) writable: bool,
    pub(crate) deadline: Instant,
}

/// What the call's log says of requests. Requests run beside the store, so it is shared.
#[derive(Clone, Debug, Default)]
struct Notes(Arc<Mutex<Vec<String>>>);

impl Notes {
    fn add(&self, note: &str) {
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if notes.len() < NOTES {
            notes.push(format!("http: {}", crate::document::excerpt(note, 500)));
        }
    }
}

impl Way {
    fn new(reach: Option<Reach>, secrets: Secrets) -> Way {
        let mut ctx = WasiHttpCtx::new();
        ctx.set_field_size_limit(2 * HEAD);
        let (open, notes, requests) = (Arc::default(), Notes::default(), Requests::Off);
        let sending = Sending { reach, open, notes, requests, reader: None };
        Way { ctx, sending, secrets }
    }
}

impl Http {
    /// Nothing can be sent without `reach`.
    pub(crate) fn new(reach: Option<Reach>, secrets: Secrets) -> Http {
        Http { way: Some(Box::new(Way::new(reach, secrets))), recorded: None }
    }

    /// Nothing can be sent, and there are no secrets.
    pub(crate) fn nothing() -> Http {
        Http { way: None, recorded: None }
    }

    fn way(&mut self) -> &mut Way {
        let recorded = self.recorded;
        self.way.get_or_insert_with(|| {
            let mut way = Box::new(Way::new(None, Secrets::none()));
            way.sending.requests = recorded.map_or(Requests::Off, Requests::record);
            way
        })
    }

    /// The secrets that it may use.
    pub(crate) fn secrets(&mut self) -> &mut Secrets {
        &mut self.way().secrets
    }

    /// Records what is sent and answered, up to so many bytes.
    pub(crate) fn record(&mut self, bytes: usize) {
        self.recorded = Some(bytes);
        if let Some(way) = &mut self.way {
            way.sending.requests = Requests::record(bytes);
        }
    }

    /// Answers as it was recorded; nothing is sent.
    pub(crate) fn play(&mut self, requests: Vec<Entry>, exact: bool) {
        self.way().sending.requests = Requests::play(requests, exact);
    }

    /// Bytes of all bodies, both ways.
    pub(crate) fn bytes(&self) -> u64 {
        self.way.as_ref().map_or(0, |way| way.sending.requests.bytes())
    }

    /// What was recorded, or why nothing is.
    pub(crate) fn recorded(&self) -> Result<Vec<Entry>, &'static str> {
        self.way.as_ref().map_or(Ok(Vec::new()), |way| way.sending.requests.entries())
    }

    /// Ends a replay. Everything else of the component has to be dropped already.
    pub(crate) fn played(&mut self) -> impl Future<Output = Played> + use<> {
        let requests = self.way.as_mut().map(|way| std::mem::take(&mut way.sending.requests)).unwrap_or_default();
        async move {
            match requests {
                Requests::Playing(playing) => playing.end().await,
                Requests::Off | Requests::Recording(_) => Played::default(),
            }
        }
    }

    /// What there is to say about the requests.
    pub(crate) fn notes(&self) -> Vec<String> {
        let Some(way) = &self.way else { return Vec::new() };
        way.sending.notes.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Counts a request for as long as it is under way: until its answer was read or dropped.
struct Open(Arc<AtomicU32>);

impl Open {
    fn enter(count: &Arc<AtomicU32>) -> Option<Open> {
        let open = Open(count.clone());
        (count.fetch_add(1, Ordering::SeqCst) < AT_A_TIME).then_some(open)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

type Sent = Result<(http::Response<WasiBody>, Box<dyn Future<Output = Result<(), Error>> + Send>), Error>;

impl Sending {
    /// Judges a request and sends it.
    fn live(
        &mut self,
        request: http::Request<WasiBody>,
        options: Option<RequestOptions>,
    ) -> Box<dyn Future<Output = Sent> + Send> {
        let notes = self.notes.clone();
        let refused = |note: String, error: Error| -> Box<dyn Future<Output = Sent> + Send> {
            notes.add(&note);
            Box::new(std::future::ready(Err(error)))
        };
        let Some(reach) = self.reach.clone() else {
            let note = "the adapter did not ask for `http` in its adapter.toml".to_owned();
            return refused(note, Error::HttpRequestDenied);
        };
        let Some(open) = Open::enter(&self.open) else {
            return refused(format!("more than {AT_A_TIME} requests at a time"), Error::ConnectionLimitReached);
        };
        let destination = match request::destination(request.uri()) {
            Ok(destination) => destination,
            Err(why) => return refused(why, Error::HttpRequestUriInvalid),
        };
        let asked = rules::Asked {
            adapter: &reach.adapter,
            writable: reach.writable,
            method: request.method().as_str(),
            destination: &destination,
        };
        let allowed = match rules::judge(&reach.network.settings, asked) {
            Ok(allowed) => allowed,
            Err(why) => return refused(format!("refused: {why}"), Error::HttpRequestDenied),
        };
        let secrets = self.reader.take();
        let options = options.unwrap_or_default();
        Box::new(request::send(request::Sending {
            request,
            destination,
            allowed,
            options,
            reach,
            secrets,
            notes,
            open,
        }))
    }
}

impl WasiHttpHooks for Sending {
    fn send_request(
        &mut self,
        request: http::Request<WasiBody>,
        options: Option<RequestOptions>,
        _: Box<dyn Future<Output = Result<(), Error>> + Send>,
    ) -> Box<dyn Future<Output = Sent> + Send> {
        let recording: Recording = match &mut self.requests {
            Requests::Playing(playing) => return playing.answer(request),
            Requests::Off => return self.live(request, options),
            Requests::Recording(recording) => recording.clone(),
        };
        let (slot, request) = recording.begin(request);
        let live = self.live(request, options);
        Box::new(async move { slot.answered(Pin::from(live).await) })
    }

    fn p2_error_from_hyper(&mut self, error: &hyper::Error) -> ErrorCode {
        match error {
            error if error.is_timeout() => ErrorCode::HttpResponseTimeout,
            error if error.is_incomplete_message() => ErrorCode::HttpResponseIncomplete,
            error if error.is_parse_too_large() => ErrorCode::HttpResponseHeaderSectionSize(None),
            error if error.is_closed() || error.is_canceled() => ErrorCode::ConnectionTerminated,
            _ => ErrorCode::HttpProtocolError,
        }
    }

    fn p2_error_from_connect(&mut self, error: &std::io::Error) -> ErrorCode {
        match error.kind() {
            std::io::ErrorKind::ConnectionRefused => ErrorCode::ConnectionRefused,
            std::io::ErrorKind::TimedOut => ErrorCode::ConnectionTimeout,
            _ => ErrorCode::DestinationUnavailable,
        }
    }

    fn p2_error_from_tls(&mut self, error: &std::io::Error) -> ErrorCode {
        let certificate = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
        match certificate {
            Some(rustls::Error::InvalidCertificate(_)) => ErrorCode::TlsCertificateError,
            _ => ErrorCode::TlsProtocolError,
        }
    }
}

impl WasiHttpView for State {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        let Way { ctx, sending, secrets } = self.http.way();
        // Handles may have been made since the last request.
        sending.reader = (!secrets.is_empty()).then(|| secrets.reader());
        WasiHttpCtxView { hooks: sending, table: &mut self.wasi.table, ctx }
    }
}

pub(super) fn link(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    wasmtime_wasi_http::p2::add_only_http_to_linker_async(linker)
}

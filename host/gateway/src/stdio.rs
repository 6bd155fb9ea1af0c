//! How do messages come in and answers go out on one pair of pipes? A transport for the protocol library that never
//! closes on what a client sends, answers what cannot pass, and stops reading from a client that reads nothing. Must
//! not know what the messages ask for.

use crate::answer;
use crate::frame::{self, RawArguments, Refusal, Sifted};
use crate::ids::Ids;
use crate::inflight::InFlight;
use crate::line::{Line, Lines};
use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorCode, ErrorData, GetMeta, JsonRpcError,
    JsonRpcMessage, ProtocolVersion, RequestId, ServerJsonRpcMessage, ServerResult,
};
use rmcp::transport::Transport;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Answers that wait to be written. When so many wait, nothing more is read.
const UNWRITTEN: usize = 256;
/// How long running calls may go on when no more messages come.
const DRAIN: Duration = Duration::from_secs(30);
/// The same when the process was told to end; whoever told it waits, and then kills.
const DRAIN_TOLD: Duration = Duration::from_secs(5);
/// How long the last answers may take to be written.
const LAST_WRITES: Duration = Duration::from_secs(2);

/// Messages of one client over a pair of pipes. Lifetime: the connection.
pub(crate) struct Stdio<R> {
    lines: Lines<R>,
    answers: Option<mpsc::Sender<Vec<u8>>>,
    writer: Option<JoinHandle<()>>,
    in_flight: Arc<InFlight>,
    ids: Arc<Ids>,
    stop: CancellationToken,
    closing: CancellationToken,
    is_open: bool,
    drain: Option<Duration>,
}

/// The client does not take answers any more.
#[derive(Debug, thiserror::Error)]
#[error("the client does not take answers any more")]
pub(crate) struct Gone;

impl<R: AsyncRead + Unpin + Send> Stdio<R> {
    /// Starts to write; reads when the library asks. `stop` ends the reading, not the calls; `closing` is told that no
    /// more is read.
    pub(crate) fn new(
        (reader, writer): (R, impl AsyncWrite + Unpin + Send + 'static),
        stop: CancellationToken,
        closing: CancellationToken,
    ) -> Stdio<R> {
        let (answers, unwritten) = mpsc::channel(UNWRITTEN);
        Stdio {
            lines: Lines::new(reader),
            answers: Some(answers),
            writer: Some(tokio::spawn(write(writer, unwritten))),
            in_flight: Arc::default(),
            ids: Arc::default(),
            stop,
            closing,
            is_open: false,
            drain: None,
        }
    }

    /// What is to be done about one line: pass it on, or answer it here.
    fn look_at(&mut self, line: Line) -> Result<Option<ClientJsonRpcMessage>, Box<ServerJsonRpcMessage>> {
        let sifted = match line {
            Line::Whole(bytes) => frame::sift(&bytes),
            Line::TooLong(scan) => Err(frame::refuse_too_long(&scan)),
            Line::End => {
                self.drain = Some(DRAIN);
                return Ok(None);
            }
        };
        match sifted {
            Ok(Some(Sifted { message, arguments, .. })) => self.admit(message, arguments),
            Ok(None) => Ok(None),
            Err(Refusal { id, error }) => {
                tracing::warn!(?id, message = %error.message, "a message of the client was refused");
                Err(Box::new(ServerJsonRpcMessage::error(error, id)))
            }
        }
    }

    /// Puts the client's id into an answer; `false` for one to a request that was taken back.
    fn give_back_id(&self, message: &mut ServerJsonRpcMessage) -> bool {
        let id = match message {
            JsonRpcMessage::Response(response) => &mut response.id,
            JsonRpcMessage::Error(JsonRpcError { id: Some(id), .. }) => id,
            JsonRpcMessage::Error(_) | JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => return true,
        };
        match self.ids.end(id) {
            Some(theirs) => {
                *id = theirs;
                true
            }
            None => false,
        }
    }

    fn admit(
        &mut self,
        mut message: ClientJsonRpcMessage,
        arguments: Option<RawArguments>,
    ) -> Result<Option<ClientJsonRpcMessage>, Box<ServerJsonRpcMessage>> {
        match &mut message {
            JsonRpcMessage::Request(request) => {
                let id = &request.id;
                if self.in_flight.contains(id) {
                    // An answer with this id would be taken for the answer to the first request.
                    let error = ErrorData::new(
                        ErrorCode::INVALID_REQUEST,
                        format!("the id {id} is that of a running request"),
                        None,
                    );
                    return Err(Box::new(ServerJsonRpcMessage::error(error, None)));
                }
                let size = arguments.map_or(0, |arguments| arguments.0.len());
                let is_call = matches!(request.request, ClientRequest::CallToolRequest(_));
                if !self.in_flight.begin(id.clone(), size, is_call) {
                    let result = ServerResult::CallToolResult(answer::overloaded());
                    return Err(Box::new(ServerJsonRpcMessage::response(result, id.clone())));
                }
                self.is_open |= opens(&request.request);
                let is_named = matches!(request.request, ClientRequest::SubscriptionsListenRequest(_));
                request.id = self.ids.begin(id, is_named);
                Ok(Some(message))
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &mut notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.in_flight.end(id);
                    match self.ids.take_back(id) {
                        Some(ours) => cancelled.params.request_id = Some(ours),
                        // Nothing that runs is meant.
                        None => return Ok(None),
                    }
                }
                Ok(self.is_open.then_some(message))
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => Ok(self.is_open.then_some(message)),
        }
    }
}

/// Whether the library takes a request for the beginning of a session. Before one, it would close the connection for
/// anything but a request.
fn opens(request: &ClientRequest) -> bool {
    match request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => false,
        request => {
            let meta = request.get_meta();
            let version = meta.protocol_version().filter(|version| ProtocolVersion::KNOWN_VERSIONS.contains(version));
            version.is_some() && meta.missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty()
        }
    }
}

impl<R: AsyncRead + Unpin + Send> Transport<RoleServer> for Stdio<R> {
    type Error = Gone;

    fn send(&mut self, mut message: ServerJsonRpcMessage) -> impl Future<Output = Result<(), Gone>> + Send + 'static {
        let answers = self.answers.clone();
        let in_flight = self.in_flight.clone();
        let is_meant = self.give_back_id(&mut message);
        async move {
            if !is_meant {
                return Ok(());
            }
            let answered = answered(&message);
            let sent = match answers {
                Some(answers) => answers.send(as_line(&message)).await.map_err(|_| Gone),
                None => Err(Gone),
            };
            if let Some(id) = answered {
                in_flight.end(&id);
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            if let Some(limit) = self.drain {
                self.closing.cancel();
                let _ = tokio::time::timeout(limit, self.in_flight.none_left()).await;
                return None;
            }
            // The place for a refusal is reserved before a line is taken, so that nothing is lost when this is dropped.
            let place = self.answers.clone()?.reserve_owned().await.ok()?;
            let line = tokio::select! {
                line = self.lines.next() => line,
                () = self.stop.cancelled() => {
                    self.drain = Some(DRAIN_TOLD);
                    continue;
                }
            };
            match self.look_at(line) {
                Ok(Some(message)) => return Some(message),
                Ok(None) => {}
                Err(answer) => drop(place.send(as_line(&answer))),
            }
        }
    }

    async fn close(&mut self) -> Result<(), Gone> {
        self.answers = None;
        if let Some(writer) = self.writer.take() {
            let abort = writer.abort_handle();
            if tokio::time::timeout(LAST_WRITES, writer).await.is_err() {
                abort.abort();
            }
        }
        Ok(())
    }
}

fn answered(message: &ServerJsonRpcMessage) -> Option<RequestId> {
    match message {
        JsonRpcMessage::Response(response) => Some(response.id.clone()),
        JsonRpcMessage::Error(error) => error.id.clone(),
        JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
    }
}

/// One message as one line. JSON text has no line feed outside its texts, and inside them it is escaped.
fn as_line(message: &ServerJsonRpcMessage) -> Vec<u8> {
    let json = match message {
        // The library leaves an unknown id out; JSON-RPC wants it to be null.
        JsonRpcMessage::Error(JsonRpcError { id: None, error, .. }) => {
            serde_json::to_vec(&json!({ "jsonrpc": "2.0", "id": null, "error": error }))
        }
        message => serde_json::to_vec(message),
    };
    let mut line = json.unwrap_or_else(|error| {
        tracing::error!(%error, "an answer cannot be written as JSON");
        let id = answered(message);
        let error = ErrorData::new(ErrorCode::INTERNAL_ERROR, "the answer cannot be written as JSON", None);
        serde_json::to_vec(&ServerJsonRpcMessage::error(error, id)).unwrap_or_default()
    });
    line.push(b'\n');
    line
}

/// Writes answers in order until there are no more or nobody reads them.
async fn write(mut writer: impl AsyncWrite + Unpin, mut unwritten: mpsc::Receiver<Vec<u8>>) {
    while let Some(line) = unwritten.recv().await {
        let written = async {
            writer.write_all(&line).await?;
            if unwritten.is_empty() { writer.flush().await } else { Ok(()) }
        };
        if let Err(error) = written.await {
            tracing::warn!(%error, "the client does not take answers any more");
            return;
        }
    }
    let _ = writer.flush().await;
}

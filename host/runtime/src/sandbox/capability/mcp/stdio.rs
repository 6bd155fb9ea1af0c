//! How do messages go to a server that is a child, and come from it? A transport for the protocol library which keeps
//! results as they were sent, passes over what is no message, and never holds more than one message. Must not know
//! what the messages ask for.

use super::connection::Wanted;
use super::frame::{self, Frame};
use super::process::{Begun, Process, Said};
use rmcp::RoleClient;
use rmcp::model::{
    ClientJsonRpcMessage, EmptyObject, ErrorCode, ErrorData, JsonRpcMessage, JsonRpcNotification, ServerJsonRpcMessage,
    ServerNotification, ServerResult,
};
use rmcp::transport::Transport;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// Longest message of a server, in bytes: more than any component may take.
pub(super) const LONGEST: usize = 64 << 20;
/// Bytes that are read at once.
const CHUNK: usize = 64 << 10;
/// A buffer larger than this is given back after its message.
const KEPT: usize = 1 << 20;
/// Messages that wait to be written.
const UNWRITTEN: usize = 64;

/// One connection to a child. Lifetime: the connection.
pub(super) struct Stdio {
    process: Process,
    output: Box<dyn AsyncRead + Send + Unpin>,
    messages: Option<mpsc::Sender<Vec<u8>>>,
    writer: JoinHandle<()>,
    wanted: Arc<Wanted>,
    said: Said,
    buffer: Vec<u8>,
    /// Bytes of `buffer` in which there is no end of a line.
    looked: usize,
    over: bool,
}

/// The server does not take messages any more.
#[derive(Debug, thiserror::Error)]
#[error("the server does not take messages any more")]
pub(super) struct Gone;

impl Stdio {
    pub(super) fn new(begun: Begun, wanted: Arc<Wanted>) -> Stdio {
        let Begun { process, input, output } = begun;
        let (messages, unwritten) = mpsc::channel(UNWRITTEN);
        let said = process.said();
        let writer = tokio::spawn(write(input, unwritten));
        Stdio {
            process,
            output,
            messages: Some(messages),
            writer,
            wanted,
            said,
            buffer: Vec::new(),
            looked: 0,
            over: false,
        }
    }

    /// A line that is in the buffer as a whole.
    fn take(&mut self) -> Option<Vec<u8>> {
        let end = self.buffer[self.looked..].iter().position(|byte| *byte == b'\n');
        let Some(end) = end.map(|end| self.looked + end) else {
            self.looked = self.buffer.len();
            return None;
        };
        let rest = self.buffer.split_off(end + 1);
        let mut line = std::mem::replace(&mut self.buffer, rest);
        line.pop();
        self.looked = 0;
        Some(line)
    }

    /// What the library gets of a line.
    fn look_at(&self, line: &[u8]) -> Option<ServerJsonRpcMessage> {
        match frame::read(line, |id| self.wanted.is_open(id)) {
            Frame::Result(id, result) => {
                self.wanted.keep(&id, result);
                Some(ServerJsonRpcMessage::response(ServerResult::EmptyResult(EmptyObject {}), id))
            }
            Frame::Message(message) => match *message {
                // The library hands notifications to tasks of their own, and the answer would overtake them.
                JsonRpcMessage::Notification(JsonRpcNotification {
                    notification: ServerNotification::ProgressNotification(progress),
                    ..
                }) => {
                    self.wanted.listeners.pass_on(progress.params);
                    None
                }
                message => Some(message),
            },
            Frame::Broken(id, why) => {
                let error = ErrorData::new(ErrorCode::PARSE_ERROR, format!("the answer cannot be read: {why}"), None);
                Some(ServerJsonRpcMessage::error(error, Some(id)))
            }
            Frame::Noise => {
                self.said.add_noise(line);
                None
            }
        }
    }
}

impl Transport<RoleClient> for Stdio {
    type Error = Gone;

    fn send(&mut self, message: ClientJsonRpcMessage) -> impl Future<Output = Result<(), Gone>> + Send + 'static {
        let messages = self.messages.clone();
        if let JsonRpcMessage::Request(request) = &message {
            self.wanted.note(&request.id, &request.request);
        }
        async move {
            let mut line = serde_json::to_vec(&message).map_err(|_| Gone)?;
            line.push(b'\n');
            messages.ok_or(Gone)?.send(line).await.map_err(|_| Gone)
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            while let Some(line) = self.take() {
                if let Some(message) = self.look_at(&line) {
                    return Some(message);
                }
            }
            if self.over {
                return None;
            }
            if self.buffer.len() > LONGEST {
                self.wanted.end(format!("it sent a message longer than {LONGEST} bytes"));
                return None;
            }
            if self.buffer.is_empty() && self.buffer.capacity() > KEPT {
                self.buffer = Vec::new();
            }
            self.buffer.reserve(CHUNK);
            // What was read stays in the buffer when this is dropped.
            match self.output.read_buf(&mut self.buffer).await {
                Ok(1..) => {}
                Ok(0) | Err(_) => {
                    self.over = true;
                    // A last line that nobody ended.
                    self.buffer.push(b'\n');
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), Gone> {
        // The writer ends, and with it the server's input.
        self.messages = None;
        self.writer.abort();
        if let Some(status) = self.process.end().await {
            self.wanted.end(format!("it ended with {status}"));
        }
        Ok(())
    }
}

impl Drop for Stdio {
    fn drop(&mut self) {
        self.writer.abort();
    }
}

async fn write(mut input: Box<dyn AsyncWrite + Send + Unpin>, mut unwritten: mpsc::Receiver<Vec<u8>>) {
    while let Some(line) = unwritten.recv().await {
        if input.write_all(&line).await.is_err() {
            return;
        }
    }
}

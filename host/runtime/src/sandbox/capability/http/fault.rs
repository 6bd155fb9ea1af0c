//! Which failures do requests have, and how is one kept so that a component sees the same again? Pure.

use serde::{Deserialize, Serialize};
use wasmtime_wasi_http::Error;

/// The failures that requests of ours have, as a component sees them.
macro_rules! faults {
    ($($plain:ident),*) => {
        /// A failure, as it is kept.
        #[derive(Clone, Debug, Serialize, Deserialize)]
        pub(super) enum Fault {
            $($plain,)*
            HttpResponseBodySize(Option<u64>),
            HttpResponseHeaderSectionSize(Option<u32>),
            HttpResponseContentCoding(Option<String>),
            InternalError(Option<String>),
            DnsError(Option<String>, Option<u16>),
        }

        impl Fault {
            /// The form in which it is kept; nothing for one that no request of ours has.
            pub(super) fn of(error: &Error) -> Option<Fault> {
                Some(match error {
                    $(Error::$plain => Fault::$plain,)*
                    Error::HttpResponseBodySize(most) => Fault::HttpResponseBodySize(*most),
                    Error::HttpResponseHeaderSectionSize(most) => Fault::HttpResponseHeaderSectionSize(*most),
                    Error::HttpResponseContentCoding(coding) => Fault::HttpResponseContentCoding(coding.clone()),
                    Error::InternalError(why) => Fault::InternalError(why.clone()),
                    Error::DnsError { rcode, info_code } => Fault::DnsError(rcode.clone(), *info_code),
                    Error::Hyper(error) => Fault::of_hyper(error),
                    Error::Connect(error) => Fault::of_connecting(error),
                    Error::Tls(error) => Fault::of_tls(error),
                    _ => return None,
                })
            }

            /// The failure again.
            pub(super) fn error(self) -> Error {
                match self {
                    $(Fault::$plain => Error::$plain,)*
                    Fault::HttpResponseBodySize(most) => Error::HttpResponseBodySize(most),
                    Fault::HttpResponseHeaderSectionSize(most) => Error::HttpResponseHeaderSectionSize(most),
                    Fault::HttpResponseContentCoding(coding) => Error::HttpResponseContentCoding(coding),
                    Fault::InternalError(why) => Error::InternalError(why),
                    Fault::DnsError(rcode, info_code) => Error::DnsError { rcode, info_code },
                }
            }
        }
    };
}

faults!(
    DnsTimeout,
    DestinationNotFound,
    DestinationUnavailable,
    DestinationIpProhibited,
    DestinationIpUnroutable,
    ConnectionRefused,
    ConnectionTerminated,
    ConnectionTimeout,
    ConnectionReadTimeout,
    ConnectionWriteTimeout,
    ConnectionLimitReached,
    TlsProtocolError,
    TlsCertificateError,
    HttpRequestDenied,
    HttpRequestUriInvalid,
    HttpResponseIncomplete,
    HttpResponseTimeout,
    HttpProtocolError,
    ConfigurationError
);

impl Fault {
    /// As [`super::Sending`] says them to the component.
    fn of_hyper(error: &hyper::Error) -> Fault {
        match error {
            error if error.is_timeout() => Fault::HttpResponseTimeout,
            error if error.is_incomplete_message() => Fault::HttpResponseIncomplete,
            error if error.is_parse_too_large() => Fault::HttpResponseHeaderSectionSize(None),
            error if error.is_closed() || error.is_canceled() => Fault::ConnectionTerminated,
            _ => Fault::HttpProtocolError,
        }
    }

    fn of_connecting(error: &std::io::Error) -> Fault {
        match error.kind() {
            std::io::ErrorKind::ConnectionRefused => Fault::ConnectionRefused,
            std::io::ErrorKind::TimedOut => Fault::ConnectionTimeout,
            _ => Fault::DestinationUnavailable,
        }
    }

    fn of_tls(error: &std::io::Error) -> Fault {
        let certificate = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
        match certificate {
            Some(rustls::Error::InvalidCertificate(_)) => Fault::TlsCertificateError,
            _ => Fault::TlsProtocolError,
        }
    }
}

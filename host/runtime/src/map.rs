//! In what does a call look things up by name or digest? Maps whose hash is quick for short keys. Where callers choose the
//! keys there has to be a bound on them: only chance keeps those from colliding.

/// A map that every call looks into.
pub(crate) type Map<K, V> = std::collections::HashMap<K, V, foldhash::fast::RandomState>;

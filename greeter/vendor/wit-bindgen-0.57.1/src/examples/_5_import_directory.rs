crate::generate!({
    path: concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/wit/"
    ),
});

//! What is the smallest component that a test can bend? One template in component text; a test gives the body of
//! `execute` and what stands beside it. Must not know what a test does with it.

use super::house::House;
use serde::Deserialize;

/// A component in text. The default answers with its own arguments as facts.
///
/// In `body` there are the locals `$tool $tool_len $args $args_len $id $id_len $attempt $deadline`, the functions
/// `$ok (ptr len)` (facts), `$text (ptr len)` (one text), both of which give what `execute` returns, `$fail (kind ptr
/// len)`, `$log (level ptr len)`, `$report`, `$partial (ptr len)`, `$cancelled`, `$grants`, `$open`, and `$realloc`. The
/// memory from 1024 to 16383 is free.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Guest {
    pub(crate) name: String,
    /// What `execute` does.
    pub(crate) body: String,
    /// Further fields of the module: functions, globals, data, a start function.
    pub(crate) fields: String,
    /// The memory's limits in pages.
    pub(crate) memory: String,
    /// What allocating does first.
    pub(crate) realloc: String,
    /// What is done after the host has taken the result.
    pub(crate) post_return: String,
    /// How the host reads texts, such as `string-encoding=utf16`.
    pub(crate) encoding: String,
    /// Further fields of the component.
    pub(crate) beside: String,
    /// Fields of the component that come before its module.
    pub(crate) before: String,
    /// What of them the module is given, as `(with "name" (instance $name))`.
    pub(crate) with: String,
    /// How the module imports it.
    pub(crate) imports: String,
    /// Lines of the tool's manifest, such as `timeout_ms = 5`.
    pub(crate) manifest: String,
    /// What `limits` of the manifest has.
    pub(crate) limits: String,
    /// The inputs, in TOML; any object without them.
    pub(crate) inputs: String,
    /// Whether it may use files.
    pub(crate) files: bool,
    /// What `[sandbox]` of its `adapter.toml` has.
    pub(crate) sandbox: String,
    /// What its calls do: `read`, `write` or `destructive`.
    pub(crate) effect: String,
}

impl Default for Guest {
    fn default() -> Guest {
        Guest {
            name: "probe".into(),
            body: "(call $ok (local.get $args) (local.get $args_len))".into(),
            fields: String::new(),
            memory: "1".into(),
            realloc: String::new(),
            post_return: String::new(),
            encoding: String::new(),
            beside: String::new(),
            before: String::new(),
            with: String::new(),
            imports: String::new(),
            manifest: String::new(),
            limits: String::new(),
            inputs: String::new(),
            files: false,
            sandbox: String::new(),
            effect: "read".into(),
        }
    }
}

impl Guest {
    /// A guest that does something.
    pub(crate) fn that(body: impl Into<String>) -> Guest {
        Guest { body: body.into(), ..Guest::default() }
    }

    /// Puts the plugin into a house.
    pub(crate) fn put(&self, house: &House) {
        self.put_as(house, &self.text());
    }

    /// Puts it there with another component.
    pub(crate) fn put_as(&self, house: &House, component: &str) {
        let folder = house.path("plugins").join(&self.name);
        std::fs::create_dir_all(folder.join("tools")).unwrap();
        std::fs::write(folder.join("component.wat"), component).unwrap();
        std::fs::write(folder.join("adapter.toml"), self.adapter()).unwrap();
        std::fs::write(folder.join("tools/tool.toml"), self.tool()).unwrap();
    }

    fn adapter(&self) -> String {
        let name = &self.name;
        let capabilities = if self.files { "[\"files\"]" } else { "[]" };
        format!(
            "name = \"{name}\"\nversion = \"0.1.0\"\ncomponent = \"component.wat\"\n\
             world = \"hermes:tool/tool@0.1.0\"\ncapabilities = {capabilities}\n[sandbox]\n{}\n",
            self.sandbox
        )
    }

    fn tool(&self) -> String {
        let Guest { name, manifest, limits, inputs, effect, .. } = self;
        let schema = if inputs.is_empty() { "input_schema = { type = \"object\" }" } else { "" };
        format!(
            "[tool]\nname = \"{name}\"\nversion = \"0.1.0\"\ndescription = \"A guest of the tests\"\n{schema}\n{manifest}\n\
             limits = {{ {limits} }}\n{inputs}\n\
             [tool.permissions]\nrequired_roles = [\"Builder\"]\nrisk_level = \"low\"\n\
             [tool.effect]\nkind = \"{effect}\"\n\
             [tool.backend]\ntype = \"custom\"\nadapter = \"{name}\"\n"
        )
    }

    /// The component.
    pub(crate) fn text(&self) -> String {
        let Guest { body, fields, memory, realloc, beside, before, with, imports, .. } = self;
        let (files_import, files_lower, files_core) =
            if self.files { (FILES_IMPORT, FILES_LOWER, FILES_CORE) } else { ("", "", "") };
        let (post, post_option) = match self.post_return.as_str() {
            "" => (String::new(), ""),
            body => {
                (format!("(func (export \"post\") (param i32) {body})"), "(post-return (core func $main \"post\"))")
            }
        };
        let lift = LIFT.replace("EXECUTE_OPTIONS", &format!("{} {post_option}", self.encoding));
        let files_with = if self.files { "(with \"files\" (instance $files_core))" } else { "" };
        format!(
            r#"(component
  {TYPES}
  {IMPORTS}
  {files_import}
  (core module $libc
    (memory (export "memory") {memory})
    (global $free (mut i32) (i32.const 16384))
    (func (export "realloc") (param $old i32) (param $old_size i32) (param $align i32) (param $size i32) (result i32)
      (local $at i32)
      {realloc}
      (local.set $at (i32.and (i32.add (global.get $free) (i32.const 7)) (i32.const -8)))
      (global.set $free (i32.add (local.get $at) (local.get $size)))
      (block $fits
        (br_if $fits (i32.le_u (global.get $free) (i32.mul (memory.size) (i32.const 65536))))
        (br_if $fits (i32.ge_s (memory.grow (i32.add (i32.shr_u (local.get $size) (i32.const 16)) (i32.const 1)))
          (i32.const 0)))
        unreachable)
      (local.get $at)))
  (core instance $libc (instantiate $libc))
  {LOWER}
  {files_lower}
  {before}
  (core module $main
    (import "libc" "memory" (memory 0))
    (import "libc" "realloc" (func $realloc (param i32 i32 i32 i32) (result i32)))
    (import "log" "write" (func $log (param i32 i32 i32)))
    (import "progress" "report" (func $report (param i64 i32 i64 i32 i32 i32)))
    (import "progress" "partial" (func $partial (param i32 i32)))
    (import "progress" "cancelled" (func $cancelled (result i32)))
    {files_core}
    {imports}
    {HELPERS}
    {fields}
    (func (export "describe") (result i32) (i32.const 512))
    (func (export "check-health") (result i32) (i32.const 512))
    (func (export "execute") (param $tool i32) (param $tool_len i32) (param $args i32) (param $args_len i32)
      (param $id i32) (param $id_len i32) (param $attempt i32) (param $deadline i64)
      (param $has_task i32) (param $task i32) (param $task_len i32) (result i32)
      {body})
    {post})
  (core instance $main (instantiate $main
    (with "libc" (instance $libc)) (with "log" (instance $log_core)) (with "progress" (instance $progress_core))
    {files_with} {with}))
  {beside}
  {lift})"#
        )
    }
}

const TYPES: &str = r#"
  (import "hermes:tool/types@0.1.0" (instance $types
    (type $context_ (record (field "call-id" string) (field "attempt" u32) (field "deadline-ms" u64)
      (field "task" (option string))))
    (export "context" (type $context (eq $context_)))
    (type $call_ (record (field "tool" string) (field "args" string) (field "context" $context)))
    (export "call" (type $call (eq $call_)))
    (type $blob_ (record (field "data" (list u8)) (field "media-type" string)))
    (export "blob" (type $blob (eq $blob_)))
    (type $link_ (record (field "uri" string) (field "name" string) (field "media-type" (option string))
      (field "description" (option string))))
    (export "link" (type $link (eq $link_)))
    (type $content_ (variant (case "text" string) (case "json" string) (case "binary" $blob) (case "link" $link)))
    (export "content" (type $content (eq $content_)))
    (type $output_ (record (field "data" (option string)) (field "content" (list $content))
      (field "metadata" (option string))))
    (export "output" (type $output (eq $output_)))
    (type $kind_ (enum "invalid-input" "denied" "conflict" "too-large" "tool-failed" "upstream" "unavailable" "timeout"))
    (export "error-kind" (type $kind (eq $kind_)))
    (type $error_ (record (field "kind" $kind) (field "reason" (option string)) (field "message" string)
      (field "hint" (option string)) (field "request-sent" bool) (field "partial" (option $output))))
    (export "error" (type $error (eq $error_)))
    (type $update_ (record (field "done" u64) (field "total" (option u64)) (field "message" (option string))))
    (export "progress-update" (type $update (eq $update_)))
    (type $described_ (record (field "name" string) (field "description" string) (field "input-schema" string)))
    (export "tool-description" (type $described (eq $described_)))
    (type $description_ (record (field "name" string) (field "version" string) (field "tools" (list $described))))
    (export "description" (type $description (eq $description_)))))
  (alias export $types "call" (type $call))
  (alias export $types "output" (type $output))
  (alias export $types "error" (type $error))
  (alias export $types "description" (type $description))
  (alias export $types "progress-update" (type $update))"#;

const IMPORTS: &str = r#"
  (import "hermes:tool/log@0.1.0" (instance $log
    (type $level_ (enum "debug" "info" "warn" "error"))
    (export "level" (type $level (eq $level_)))
    (export "write" (func (param "level" $level) (param "message" string)))))
  (import "hermes:tool/progress@0.1.0" (instance $progress
    (alias outer 1 $update (type $update_))
    (export "progress-update" (type $update (eq $update_)))
    (export "report" (func (param "update" $update)))
    (export "partial" (func (param "text" string)))
    (export "cancelled" (func (result bool)))))"#;

const FILES_IMPORT: &str = r#"
  (import "hermes:tool/files@0.1.0" (instance $files
    (type $reason_ (enum "not-found" "path-out-of-bounds" "read-only" "permission-denied" "not-a-regular-file"
      "not-a-directory" "is-a-directory" "already-exists" "changed" "too-large" "no-space" "io"))
    (export "reason" (type $reason (eq $reason_)))
    (type $failure_ (record (field "reason" $reason) (field "message" string)))
    (export "failure" (type $failure (eq $failure_)))
    (type $grant_ (record (field "name" string) (field "writable" bool)))
    (export "grant" (type $grant (eq $grant_)))
    (export "reader" (type $reader (sub resource)))
    (export "grants" (func (result (list $grant))))
    (export "open" (func (param "path" string) (result (result (own $reader) (error $failure)))))
    (type $expect_ (variant (case "absent") (case "digest" string) (case "any")))
    (export "expectation" (type $expect (eq $expect_)))
    (type $written_ (record (field "size" u64) (field "digest" string) (field "created" bool)))
    (export "written" (type $written (eq $written_)))
    (export "write" (func (param "path" string) (param "content" (list u8)) (param "expect" $expect)
      (result (result $written (error $failure)))))))"#;

const LOWER: &str = r#"
  (core func $write_log (canon lower (func $log "write") (memory (core memory $libc "memory")) (realloc (core func $libc "realloc"))))
  (core func $report (canon lower (func $progress "report") (memory (core memory $libc "memory")) (realloc (core func $libc "realloc"))))
  (core func $partial (canon lower (func $progress "partial") (memory (core memory $libc "memory"))))
  (core func $cancelled (canon lower (func $progress "cancelled")))
  (core instance $log_core (export "write" (func $write_log)))
  (core instance $progress_core (export "report" (func $report)) (export "partial" (func $partial))
    (export "cancelled" (func $cancelled)))"#;

const FILES_LOWER: &str = r#"
  (core func $grants (canon lower (func $files "grants") (memory (core memory $libc "memory")) (realloc (core func $libc "realloc"))))
  (core func $open (canon lower (func $files "open") (memory (core memory $libc "memory")) (realloc (core func $libc "realloc"))))
  (core func $write (canon lower (func $files "write") (memory (core memory $libc "memory")) (realloc (core func $libc "realloc"))))
  (core instance $files_core (export "grants" (func $grants)) (export "open" (func $open))
    (export "write" (func $write)))"#;

const FILES_CORE: &str = r#"
    (import "files" "grants" (func $grants (param i32)))
    (import "files" "open" (func $open (param i32 i32 i32)))
    (import "files" "write" (func $write (param i32 i32 i32 i32 i32 i32 i32 i32)))"#;

const HELPERS: &str = r#"
    (func $ok (param $at i32) (param $length i32) (result i32)
      (i32.store (i32.const 68) (i32.const 1))
      (i32.store (i32.const 72) (local.get $at))
      (i32.store (i32.const 76) (local.get $length))
      (i32.const 64))
    (func $text (param $at i32) (param $length i32) (result i32)
      (i32.store (i32.const 260) (local.get $at))
      (i32.store (i32.const 264) (local.get $length))
      (i32.store (i32.const 80) (i32.const 256))
      (i32.store (i32.const 84) (i32.const 1))
      (i32.const 64))
    (func $fail (param $kind i32) (param $at i32) (param $length i32) (result i32)
      (i32.store (i32.const 64) (i32.const 1))
      (i32.store (i32.const 68) (local.get $kind))
      (i32.store (i32.const 84) (local.get $at))
      (i32.store (i32.const 88) (local.get $length))
      (i32.const 64))"#;

const LIFT: &str = r#"
  (func $describe (result $description)
    (canon lift (core func $main "describe") (memory (core memory $libc "memory")) (realloc (core func $libc "realloc"))))
  (func $execute (param "call" $call) (result (result $output (error $error)))
    (canon lift (core func $main "execute") (memory (core memory $libc "memory")) (realloc (core func $libc "realloc")) EXECUTE_OPTIONS))
  (func $check_health (result (result (error $error)))
    (canon lift (core func $main "check-health") (memory (core memory $libc "memory")) (realloc (core func $libc "realloc"))))
  (instance $exported
    (export "describe" (func $describe)) (export "execute" (func $execute)) (export "check-health" (func $check_health)))
  (export "hermes:tool/tool-execution@0.1.0" (instance $exported))"#;

/// A call of the template's tool.
#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::{block_on, house};
    use serde_json::json;

    #[test]
    fn a_guest_answers_with_what_it_was_given() {
        let house = House::empty();
        Guest::default().put(&house);
        let runtime = house.start(house.config());
        let answer = block_on(runtime.call(house::call("probe", json!({ "b": [1, "ü"], "a": null })))).envelope;
        assert_eq!(answer.data, json!({ "a": null, "b": [1, "ü"] }), "{answer:#?}");
    }
}

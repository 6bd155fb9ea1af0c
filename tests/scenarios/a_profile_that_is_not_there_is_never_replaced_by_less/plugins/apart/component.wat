(component (import "hermes:tool/files@0.1.0" (instance (export "grants" (func)))))

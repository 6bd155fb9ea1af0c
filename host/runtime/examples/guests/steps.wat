;; A component of the examples: it takes three steps, and says so.
(component
  (import "hermes:tool/types@0.1.0" (instance $types
    (type $update_ (record (field "done" u64) (field "total" (option u64)) (field "message" (option string))))
    (export "progress-update" (type $update (eq $update_)))))
  (alias export $types "progress-update" (type $update))
  (import "hermes:tool/progress@0.1.0" (instance $progress
    (alias outer 1 $update (type $update_))
    (export "progress-update" (type $update (eq $update_)))
    (export "report" (func (param "update" $update)))))
  (core module $libc (memory (export "memory") 1) (data (i32.const 64) "a step is done"))
  (core instance $libc (instantiate $libc))
  (core func $report (canon lower (func $progress "report") (memory (core memory $libc "memory"))))
  (core instance $progress_core (export "report" (func $report)))
  (core module $main
    (import "progress" "report" (func $report (param i64 i32 i64 i32 i32 i32)))
    (func (export "walk") (result i32)
      (local $step i64)
      (loop $next
        (local.set $step (i64.add (local.get $step) (i64.const 1)))
        (call $report (local.get $step) (i32.const 1) (i64.const 3) (i32.const 1) (i32.const 64) (i32.const 14))
        (br_if $next (i64.lt_u (local.get $step) (i64.const 3))))
      (i32.wrap_i64 (local.get $step))))
  (core instance $main (instantiate $main (with "progress" (instance $progress_core))))
  (func $walk (result u32) (canon lift (core func $main "walk")))
  (export "walk" (func $walk)))

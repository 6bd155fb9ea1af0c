;; A component of the examples. It knows nothing of the runtime: it asks `shop:house/stock` how many of an item there are,
;; and its own function becomes a tool by its types.
(component
  (import "shop:house/stock@1.0.0" (instance $stock
    (export "count" (func (param "item" string) (result u32)))))
  (core module $libc
    (memory (export "memory") 1)
    (global $free (mut i32) (i32.const 1024))
    (func (export "realloc") (param i32 i32 i32 i32) (result i32)
      (global.get $free)
      (global.set $free (i32.add (global.get $free) (i32.and (i32.add (local.get 3) (i32.const 15)) (i32.const -8))))))
  (core instance $libc (instantiate $libc))
  (core func $count (canon lower (func $stock "count") (memory (core memory $libc "memory"))))
  (core instance $stock_core (export "count" (func $count)))
  (core module $main
    (import "libc" "memory" (memory 0))
    (import "stock" "count" (func $count (param i32 i32) (result i32)))
    (func (export "has") (param i32 i32 i32) (result i32)
      (i32.ge_u (call $count (local.get 0) (local.get 1)) (local.get 2))))
  (core instance $main (instantiate $main (with "libc" (instance $libc)) (with "stock" (instance $stock_core))))
  (func $has (param "item" string) (param "wanted" u32) (result bool)
    (canon lift (core func $main "has") (memory (core memory $libc "memory")) (realloc (core func $libc "realloc"))))
  (export "has" (func $has)))

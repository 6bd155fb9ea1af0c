;; A component of the examples. It knows nothing of the runtime; its function becomes a tool by its types.
(component
  (core module $main
    (func (export "add") (param i32 i32) (result i32) (i32.add (local.get 0) (local.get 1))))
  (core instance $main (instantiate $main))
  (func $add (param "a" s32) (param "b" s32) (result s32) (canon lift (core func $main "add")))
  (export "add" (func $add)))

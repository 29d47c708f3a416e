; What is a scope, and what is an import, in Rust.
(struct_item name: (_) @name) @scope.struct
(union_item name: (_) @name) @scope.union
(enum_item name: (_) @name) @scope.enum
(trait_item name: (_) @name) @scope.trait
(mod_item name: (_) @name body: (_)) @scope.module
(impl_item trait: (_)? @trait type: (_) @name) @scope.impl
(function_item name: (_) @name) @scope.function
(function_signature_item name: (_) @name) @scope.function
(macro_definition name: (_) @name) @scope.macro

(use_declaration) @import
(mod_item name: (_) !body) @import
(extern_crate_declaration) @import

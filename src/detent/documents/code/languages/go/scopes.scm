; What is a scope, and what is an import, in Go.
(function_declaration name: (_) @name) @scope.function
(method_declaration
  receiver: (parameter_list (parameter_declaration type: [
    (type_identifier) @owner
    (generic_type type: (type_identifier) @owner)
    (pointer_type (type_identifier) @owner)
    (pointer_type (generic_type type: (type_identifier) @owner))]))
  name: (_) @name) @scope.method
(type_spec name: (_) @name type: (struct_type)) @scope.struct
(type_spec name: (_) @name type: (interface_type)) @scope.interface
(type_spec name: (_) @name) @scope.type
(type_alias name: (_) @name) @scope.type
(type_declaration [(type_spec) (type_alias)] @wrapped) @header

(import_spec) @import

; What TypeScript adds to the scopes of JavaScript.
(abstract_class_declaration name: (_) @name) @scope.class
(interface_declaration name: (_) @name) @scope.interface
(enum_declaration name: (_) @name) @scope.enum
(type_alias_declaration name: (_) @name) @scope.type
(internal_module name: (_) @name) @scope.namespace
(module name: (_) @name body: (_)) @scope.namespace
(function_signature name: (_) @name) @declared.function
(public_field_definition name: (_) @name value: [(arrow_function) (function_expression)]) @scope.method

(ambient_declaration (_) @wrapped) @header
(expression_statement (internal_module) @wrapped) @wrapper

; What is a scope, and what is an import, in JavaScript and in TypeScript.
(class_declaration name: (_) @name) @scope.class
(function_declaration name: (_) @name) @scope.function
(generator_function_declaration name: (_) @name) @scope.function
(class_body (method_definition name: (_) @name) @scope.method)
(variable_declarator
  name: (identifier) @name
  value: [(arrow_function) (function_expression) (generator_function)]) @scope.function
(variable_declarator name: (identifier) @name value: (class)) @scope.class
(assignment_expression
  left: [(identifier) (member_expression)] @name
  right: [(arrow_function) (function_expression) (generator_function)]) @scope.function
(assignment_expression left: [(identifier) (member_expression)] @name right: (class)) @scope.class
(export_statement "default" @name value: [(arrow_function) (function_expression) (generator_function)]) @scope.function
(export_statement "default" @name value: (class)) @scope.class

(export_statement declaration: (_) @wrapped) @wrapper
(lexical_declaration (variable_declarator) @wrapped) @header
(variable_declaration (variable_declarator) @wrapped) @header
(expression_statement (assignment_expression) @wrapped) @wrapper

(import_statement) @import
(export_statement source: (_)) @import
(export_statement (export_clause) @import)
(export_statement "default" value: (identifier) @import)
(export_statement "default" declaration: (_ name: (_) @import))
(call_expression function: [(identifier) (import)] arguments: (arguments . (string) .)) @import
(variable_declarator value: [
  (call_expression function: (identifier) arguments: (arguments . (string) .))
  (member_expression object: (call_expression function: (identifier) arguments: (arguments . (string) .)))
  (await_expression (call_expression function: (import) arguments: (arguments . (string) .)))]) @import

; What is a scope, and what is an import, in Python.
(class_definition name: (_) @name) @scope.class
(function_definition name: (_) @name) @scope.function
(decorated_definition definition: (_) @wrapped) @wrapper

[(import_statement) (import_from_statement) (future_import_statement)] @import

; What is a scope, and what is an import, in Kotlin.
(class_declaration name: (_) @name) @scope.class
(object_declaration name: (_) @name) @scope.class
(function_declaration name: (_) @name) @scope.function

(import) @import

; What is a scope, and what is an import, in Java.
(class_declaration name: (_) @name) @scope.class
(interface_declaration name: (_) @name) @scope.interface
(enum_declaration name: (_) @name) @scope.enum
(record_declaration name: (_) @name) @scope.record
(annotation_type_declaration name: (_) @name) @scope.annotation
(method_declaration name: (_) @name) @scope.method
(constructor_declaration name: (_) @name) @scope.method
(compact_constructor_declaration name: (_) @name) @scope.method

(import_declaration) @import

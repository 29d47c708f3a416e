; What C++ adds to the scopes of C.
(class_specifier name: (_) @name body: (_)) @scope.class
(namespace_definition name: (_) @name) @scope.namespace
(concept_definition name: (_) @name) @scope.concept
(function_definition declarator: (reference_declarator (function_declarator declarator: (_) @name))) @scope.function
(declaration declarator: (reference_declarator (function_declarator declarator: (identifier) @name))) @declared.function

(template_declaration [
  (class_specifier) (struct_specifier) (union_specifier) (function_definition) (declaration)
  (concept_definition) (template_declaration)] @wrapped) @header
(declaration type: (class_specifier) @wrapped) @header

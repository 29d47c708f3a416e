; What is a scope, and what is an import, in C and in C++. A prototype is a scope where the file has no definition.
(struct_specifier name: (_) @name body: (_)) @scope.struct
(union_specifier name: (_) @name body: (_)) @scope.union
(enum_specifier name: (_) @name body: (_)) @scope.enum
(type_definition type: (struct_specifier !name body: (_)) declarator: (type_identifier) @name) @scope.struct
(type_definition type: (union_specifier !name body: (_)) declarator: (type_identifier) @name) @scope.union
(type_definition type: (enum_specifier !name body: (_)) declarator: (type_identifier) @name) @scope.enum
(function_definition declarator: (function_declarator declarator: (_) @name)) @scope.function
(function_definition declarator: (pointer_declarator
  declarator: (function_declarator declarator: (_) @name))) @scope.function
(function_definition declarator: (pointer_declarator declarator: (pointer_declarator
  declarator: (function_declarator declarator: (_) @name)))) @scope.function
(declaration declarator: (function_declarator declarator: (identifier) @name)) @declared.function
(declaration declarator: (pointer_declarator
  declarator: (function_declarator declarator: (identifier) @name))) @declared.function

(type_definition type: [(struct_specifier) (union_specifier) (enum_specifier)] @wrapped) @header
(declaration type: [(struct_specifier) (union_specifier) (enum_specifier)] @wrapped) @header

(preproc_include) @import

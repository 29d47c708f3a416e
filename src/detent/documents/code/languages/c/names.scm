; Where C and C++ name, call and bind something.
(comment) @comment
[(identifier) (type_identifier)] @name
(labeled_statement label: (_) @skip)
(goto_statement label: (_) @skip)
(declaration declarator: (function_declarator declarator: (_) @skip))
(declaration declarator: (pointer_declarator declarator: (function_declarator declarator: (_) @skip)))
(call_expression function: [(identifier) (field_expression)] @call)

(parameter_declaration declarator: (identifier) @bind)
(declaration declarator: (identifier) @bind)
(init_declarator declarator: (identifier) @bind)
(pointer_declarator declarator: (identifier) @bind)
(array_declarator declarator: (identifier) @bind)
(preproc_params (identifier) @bind)

(translation_unit (declaration declarator: (identifier) @constant))
(translation_unit (declaration declarator: (init_declarator declarator: (identifier) @constant)))
(translation_unit (declaration declarator: (pointer_declarator declarator: (identifier) @constant)))
(translation_unit (declaration declarator: (array_declarator declarator: (identifier) @constant)))
(translation_unit (declaration declarator: (init_declarator declarator: (array_declarator
  declarator: (identifier) @constant))))
(translation_unit (declaration declarator: (init_declarator declarator: (pointer_declarator
  declarator: (identifier) @constant))))
(translation_unit (declaration declarator: (init_declarator declarator: (pointer_declarator
  declarator: (array_declarator declarator: (identifier) @constant)))))
(preproc_def name: (_) @constant)
(preproc_function_def name: (_) @constant)
(type_definition declarator: (type_identifier) @constant)
(enumerator name: (_) @constant)

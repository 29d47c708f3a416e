; What C++ adds to the names of C.
(namespace_identifier) @name
(call_expression function: [(qualified_identifier) (template_function)] @call)
(new_expression type: (_) @call)
(destructor_name (identifier) @skip)
(base_class_clause [(type_identifier) (qualified_identifier) (template_type)] @base)

(optional_parameter_declaration declarator: (identifier) @bind)
(reference_declarator (identifier) @bind)
(for_range_loop declarator: (identifier) @bind)
(structured_binding_declarator (identifier) @bind)
(lambda_capture_initializer left: (identifier) @bind)
(field_declaration declarator: (field_identifier) @bind)
(pointer_declarator declarator: (field_identifier) @bind)
(reference_declarator (field_identifier) @bind)
(array_declarator declarator: (field_identifier) @bind)
(type_parameter_declaration (type_identifier) @bind)
(alias_declaration name: (type_identifier) @constant)
(namespace_definition body: (declaration_list (declaration declarator: (identifier) @constant)))
(namespace_definition body: (declaration_list (declaration declarator: (init_declarator
  declarator: (identifier) @constant))))

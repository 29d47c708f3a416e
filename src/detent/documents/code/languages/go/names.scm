; Where Go names, calls and binds something.
(comment) @comment
[(identifier) (type_identifier) (package_identifier)] @name
(type_identifier) @shared
(package_clause (package_identifier) @skip)
(keyed_element key: (literal_element (identifier) @skip))
(call_expression function: [(identifier) (selector_expression)] @call)
(type_conversion_expression type: (generic_type) @call)
(field_declaration !name type: [(type_identifier) (qualified_type) (generic_type)] @base)
(interface_type (type_elem . [(type_identifier) (qualified_type) (generic_type)] @base .))

(method_declaration receiver: (parameter_list (parameter_declaration name: (identifier) @receiver)))
(parameter_declaration name: (identifier) @bind)
(variadic_parameter_declaration name: (identifier) @bind)
(type_parameter_declaration name: (identifier) @bind)
(short_var_declaration left: (expression_list (identifier) @bind))
(range_clause left: (expression_list (identifier) @bind))
(receive_statement left: (expression_list (identifier) @bind))
(type_switch_statement alias: (expression_list (identifier) @bind))
(var_spec name: (identifier) @bind)
(const_spec name: (identifier) @bind)

(source_file (const_declaration (const_spec name: (identifier) @constant)))
(source_file (var_declaration (var_spec name: (identifier) @constant)))
(source_file (var_declaration (var_spec_list (var_spec name: (identifier) @constant))))

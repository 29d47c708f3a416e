; Where Java names, calls and binds something.
[(line_comment) (block_comment)] @comment
[(identifier) (type_identifier)] @name
(package_declaration (_) @skip)
(element_value_pair key: (_) @skip)
(method_invocation) @invocation
(object_creation_expression type: (_) @call)
(superclass (_) @base)
(super_interfaces (type_list (_) @base))
(extends_interfaces (type_list (_) @base))

(formal_parameter name: (identifier) @bind)
(catch_formal_parameter name: (identifier) @bind)
(variable_declarator name: (identifier) @bind)
(enhanced_for_statement name: (identifier) @bind)
(resource name: (identifier) @bind)
(inferred_parameters (identifier) @bind)
(lambda_expression parameters: (identifier) @bind)
(instanceof_expression name: (identifier) @bind)
(type_pattern (identifier) @bind)
(record_pattern_component (identifier) @bind)
(enum_constant name: (identifier) @bind)
(type_parameter (type_identifier) @bind)

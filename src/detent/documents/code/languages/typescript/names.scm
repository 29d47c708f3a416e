; What TypeScript adds to the names of JavaScript.
(class_body (decorator) @attribute)
(type_identifier) @name
(extends_clause value: [(identifier) (member_expression)] @base)
(implements_clause [(type_identifier) (generic_type) (nested_type_identifier)] @base)
(extends_type_clause type: [(type_identifier) (generic_type) (nested_type_identifier)] @base)
(required_parameter pattern: (identifier) @bind)
(optional_parameter pattern: (identifier) @bind)
(type_parameter name: (type_identifier) @bind)
(function_signature name: (_) @skip)

; Where JavaScript and TypeScript name, call and bind something.
(comment) @comment
[(identifier) (shorthand_property_identifier)] @name
(call_expression function: [(identifier) (member_expression)] @call)
(new_expression constructor: [(identifier) (member_expression)] @call)

(arrow_function parameter: (identifier) @bind)
(assignment_pattern left: (identifier) @bind)
(rest_pattern (identifier) @bind)
(array_pattern (identifier) @bind)
(pair_pattern value: (identifier) @bind)
(shorthand_property_identifier_pattern) @bind
(variable_declarator name: (identifier) @bind)
(for_in_statement left: (identifier) @bind)
(catch_clause parameter: (identifier) @bind)

(program (lexical_declaration (variable_declarator name: (identifier) @constant)))
(program (variable_declaration (variable_declarator name: (identifier) @constant)))
(program (export_statement (lexical_declaration (variable_declarator name: (identifier) @constant))))

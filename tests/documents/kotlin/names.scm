; Where Kotlin names, calls and binds something.
[(line_comment) (block_comment)] @comment
(identifier) @name
(package_header (_) @skip)
(call_expression . [(identifier) (navigation_expression)] @call)
(delegation_specifier [(user_type) @base (constructor_invocation (user_type) @base)])

(parameter . (identifier) @bind)
(class_parameter (identifier) @bind)
(variable_declaration (identifier) @bind)

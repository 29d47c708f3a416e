; Where Ruby names, calls and binds something.
(comment) @comment
(constant) @name
(identifier) @bare
(call) @invocation
(superclass [(constant) (scope_resolution)] @base)

(method_parameters (identifier) @bind)
(block_parameters (identifier) @bind)
(lambda_parameters (identifier) @bind)
(destructured_parameter (identifier) @bind)
(optional_parameter name: (identifier) @bind)
(keyword_parameter name: (identifier) @bind)
(splat_parameter name: (identifier) @bind)
(hash_splat_parameter name: (identifier) @bind)
(block_parameter name: (identifier) @bind)
(assignment left: (identifier) @bind)
(operator_assignment left: (identifier) @bind)
(left_assignment_list (identifier) @bind)
(rest_assignment (identifier) @bind)
(for pattern: (identifier) @bind)
(exception_variable (identifier) @bind)

(program (assignment left: (constant) @constant))
(module body: (body_statement (assignment left: (constant) @constant)))

; Where Rust names, calls and binds something.
[(line_comment) (block_comment)] @comment
(attribute_item) @attribute
[(identifier) (type_identifier)] @name
(call_expression function: [(identifier) (scoped_identifier) (field_expression) (generic_function)] @call)
(token_tree (identifier) @argument . (token_tree))
(impl_item trait: (_) @base)
(trait_item bounds: (trait_bounds [(type_identifier) (scoped_type_identifier) (generic_type)] @base))

(parameter pattern: (identifier) @bind)
(closure_parameters (identifier) @bind)
(let_declaration pattern: (identifier) @bind)
(let_condition pattern: (identifier) @bind)
(for_expression pattern: (identifier) @bind)
(tuple_pattern (identifier) @bind)
(slice_pattern (identifier) @bind)
(mut_pattern (identifier) @bind)
(ref_pattern (identifier) @bind)
(reference_pattern (identifier) @bind)
(captured_pattern . (identifier) @bind)
(tuple_struct_pattern type: (_) (identifier) @bind)
(field_pattern pattern: (identifier) @bind)
(shorthand_field_identifier) @bind
(match_pattern . (identifier) @bind)
(type_parameter name: (type_identifier) @bind)

(source_file (const_item name: (_) @constant))
(source_file (static_item name: (_) @constant))
(source_file (type_item name: (_) @constant))

; What only JavaScript has: TypeScript names its fields otherwise.
(field_definition property: (_) @name value: [(arrow_function) (function_expression)]) @scope.method

; What is a scope, and what is an import, in Ruby.
(class name: (_) @name) @scope.class
(module name: (_) @name) @scope.module
(method name: (_) @name) @scope.function
(singleton_method name: (_) @name) @scope.method

(call !receiver method: (identifier) arguments: (argument_list . (string) .)) @import

(call !receiver method: (identifier) @mixin arguments: (argument_list [(constant) (scope_resolution)] @mixed))

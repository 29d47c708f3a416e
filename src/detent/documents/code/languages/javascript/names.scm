; TypeScript has a clause of its own for each of what JavaScript writes here.
(class_heritage [(identifier) (member_expression)] @base)
(formal_parameters (identifier) @bind)

; inherits: ecmascript, jsx

((call_expression
    function: (_) @_runner
    arguments: (arguments . (_) (arrow_function parameters: (formal_parameters
      . (object_pattern [
          (shorthand_property_identifier_pattern) @test.param
          (pair_pattern key: (_) @test.param)
          (object_assignment_pattern left: (_) @test.param)]))))) @owner
  (#not-match? @_runner "\\.(each|for)\\("))

(class_body (field_definition
  property: (_) @name
  value: [(arrow_function body: (_) @body) (function_expression body: (_) @body)]) @definition.method)
((class_body (field_definition property: (_) @name value: (_) @value) @definition.constant)
  (#match? @name "^[A-Z][A-Z0-9_]*$"))

;;; Inside

[
  (arrow_function parameters: (formal_parameters (identifier) @name))
  (function_expression parameters: (formal_parameters (identifier) @name))
  (function_declaration parameters: (formal_parameters (identifier) @name))
  (method_definition parameters: (formal_parameters (identifier) @name))
] @local

((class_body (field_definition property: (_) @name value: (_)? @value) @member.constant)
  (#match? @name "^[A-Z][A-Z0-9_]*$"))
(class_body (field_definition
  property: (_) @name value: [(arrow_function) (function_expression)]) @member.none)
(class_body (field_definition property: (_) @name value: (_)? @value) @member.field)

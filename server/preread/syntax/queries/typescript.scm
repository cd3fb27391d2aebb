; inherits: ecmascript

((call_expression
    function: (_) @_runner
    arguments: (arguments . (_) (arrow_function parameters: (formal_parameters
      . (required_parameter pattern: (object_pattern [
          (shorthand_property_identifier_pattern) @test.param
          (pair_pattern key: (_) @test.param)
          (object_assignment_pattern left: (_) @test.param)])))))) @owner
  (#not-match? @_runner "\\.(each|for)\\("))

(interface_declaration) @definition.interface
(type_alias_declaration) @definition.type
(enum_declaration) @definition.enum
(abstract_class_declaration) @definition.class
(internal_module) @definition.type
(module) @definition.type
(function_signature) @definition.function
(abstract_method_signature) @definition.method
(class_body (public_field_definition
  name: (_) @name
  value: [(arrow_function body: (_) @body) (function_expression body: (_) @body)]) @definition.method)
((class_body (public_field_definition
    name: (_) @name
    value: (call_expression function: (_) @_wraps arguments: (arguments . [
      (arrow_function body: (_) @body) (function_expression body: (_) @body)]))) @definition.method)
  (#match? @_wraps "^(\\w+\\.)?(memo|debounce|throttle|with[A-Z]\\w*)$"))
((class_body (public_field_definition name: (_) @name value: (_) @value) @definition.constant)
  (#match? @name "^[A-Z][A-Z0-9_]*$"))
(variable_declarator name: (identifier) @name value: (as_expression
  [(arrow_function body: (_) @body) (function_expression body: (_) @body)])) @definition.function

; What a namespace declares, and the objects of functions whose type is declared
(internal_module body: (statement_block [
  (lexical_declaration (variable_declarator name: (identifier) @name) @definition.constant)
  (export_statement (lexical_declaration
    (variable_declarator name: (identifier) @name) @definition.constant))]))
(ambient_declaration [
  (lexical_declaration (variable_declarator name: (identifier) @name) @definition.constant)
  (variable_declaration (variable_declarator name: (identifier) @name) @definition.constant)])
(variable_declarator value: [
  (as_expression (object (pair
    key: [(property_identifier) (string)] @name
    value: [(arrow_function body: (_) @body) (function_expression body: (_) @body)])
      @definition.method))
  (satisfies_expression (object (pair
    key: [(property_identifier) (string)] @name
    value: [(arrow_function body: (_) @body) (function_expression body: (_) @body)])
      @definition.method))])

;;; Inside

[
  (arrow_function parameters: (formal_parameters (_ pattern: (identifier) @name)))
  (function_expression parameters: (formal_parameters (_ pattern: (identifier) @name)))
  (function_declaration parameters: (formal_parameters (_ pattern: (identifier) @name)))
  (method_definition parameters: (formal_parameters (_ pattern: (identifier) @name)))
] @local

((class_body (public_field_definition name: (_) @name value: (_)? @value) @member.constant)
  (#match? @name "^[A-Z][A-Z0-9_]*$"))
(class_body (public_field_definition
  name: (_) @name value: [(arrow_function) (function_expression)]) @member.none)
(class_body (public_field_definition
  name: (_) @name type: (type_annotation)? @value value: (_)? @value) @member.field)
(enum_body [
  (enum_assignment name: (_) @name value: (_) @value) @member.enum
  (property_identifier) @member.enum @name
  (string) @member.enum @name])
(interface_declaration body: (interface_body
  (property_signature name: (_) @name type: (type_annotation)? @value) @member.field))
(interface_body (property_signature name: (_) @name type: (type_annotation)? @value) @member.field)
(type_alias_declaration value: [
  (object_type (property_signature name: (_) @name type: (type_annotation)? @value) @member.field)
  (intersection_type (object_type
    (property_signature name: (_) @name type: (type_annotation)? @value) @member.field))])
(type_alias_declaration name: (_) @name) @family
(interface_declaration name: (_) @name) @family
(property_signature name: (_) @name) @family
(union_type (literal_type (string) @member.union @name @value))
(type_annotation (literal_type (string) @member.union @name @value))
(type_alias_declaration value: (literal_type (string) @member.union @name @value))

; {…} as const, […] as const, z.enum([…])
(program [
  (lexical_declaration (variable_declarator name: (identifier) @owner value: (as_expression
    [(object (pair key: (_) @name value: (_) @value) @member.enum)
     (array (string) @member.union @name @value)])))
  (export_statement (lexical_declaration (variable_declarator
    name: (identifier) @owner value: (as_expression
      [(object (pair key: (_) @name value: (_) @value) @member.enum)
       (array (string) @member.union @name @value)]))))])
((variable_declarator name: (identifier) @owner value: (call_expression
    function: (member_expression) @_enum
    arguments: (arguments . (array (string) @member.union @name @value))))
  (#match? @_enum "z\\.enum$"))

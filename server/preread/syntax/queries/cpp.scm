; inherits: c
; C++: GoogleTest, Catch2, doctest, Boost.Test.

((expression_statement (call_expression
    function: (identifier) @runner
    arguments: [
      (argument_list . (string_literal) @name)
      (argument_list . (identifier) . (string_literal) @name)])) @test
  . (compound_statement) @body
  (#match? @runner "^((TEMPLATE_)?(TEST_CASE|SCENARIO)(_METHOD|_FIXTURE|_TEMPLATE)?\\w*|(DYNAMIC_)?SECTION|SUBCASE|(AND_)?(GIVEN|WHEN|THEN))$"))
((expression_statement (call_expression
    function: (identifier) @runner
    arguments: (argument_list . (string_literal) @name))) @test.group
  . (compound_statement) @body
  (#eq? @runner "TEST_SUITE"))

(class_specifier body: (_)) @definition.class
(alias_declaration) @definition.type
(concept_definition) @definition.type
(function_definition
  declarator: (operator_cast) @name
  body: (_)? @body) @definition.function
(field_declaration_list [
  (field_declaration declarator: [
    (function_declarator declarator: [(field_identifier) (operator_name) (destructor_name)] @name)
    (_ declarator: (function_declarator declarator: (field_identifier) @name))
    (_ (function_declarator declarator: [(field_identifier) (operator_name)] @name))])
    @definition.method
  (declaration declarator: [
    (function_declarator declarator: (_) @name)
    (_ declarator: (function_declarator declarator: (_) @name))
    (_ (function_declarator declarator: (_) @name))]) @definition.method
  (template_declaration [
    (declaration declarator: [
      (function_declarator declarator: (_) @name)
      (_ declarator: (function_declarator declarator: (_) @name))
      (_ (function_declarator declarator: (_) @name))])
    (field_declaration declarator: (function_declarator declarator: (_) @name))])
    @definition.method])
((field_declaration
    (type_qualifier) @_const
    declarator: (field_identifier) @name
    default_value: (_) @value) @definition.constant
  (#match? @_const "^const"))
(lambda_expression) @anonymous
(attribute_declaration) @decorator

;;; Inside

(new_expression type: (_) @name) @reference.call
(raw_string_literal) @string
(lambda_expression) @block

(throw_statement (call_expression function: (_) @exception)) @raise

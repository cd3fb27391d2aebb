; Kotlin: JUnit, kotlin.test, TestNG, Kotest.

((annotation) @decorator.test
  (#match? @decorator.test "^@(\\w+\\.)*(\\w*Test|TestFactory|TestTemplate|Property)\\b"))
((call_expression
    . (call_expression
      . (identifier) @runner
      (value_arguments . (value_argument (string_literal) @name)))
    (annotated_lambda)) @test.group @only.tests
  (#match? @runner "^[xf]?(context|describe|given|Given|when|When|and|And|feature)$")
 )
((call_expression
    . (call_expression
      . (identifier) @runner
      (value_arguments . (value_argument (string_literal) @name)))
    (annotated_lambda)) @test @only.tests
  (#match? @runner "^[xf]?(test|it|should|scenario|then|Then|expect)$"))
((call_expression . (string_literal) @name @runner (annotated_lambda)) @test @only.tests)
((infix_expression . (string_literal) @name (identifier) @runner (_)) @test.group @only.tests
  (#any-of? @runner "should" "when" "When"))

((class_declaration
    (modifiers (class_modifier) @_enum)
    [(class_body) (enum_class_body)]? @body) @definition.enum (#eq? @_enum "enum"))
(class_declaration "interface" (class_body)? @body) @definition.interface
(class_declaration [(class_body) (enum_class_body)]? @body) @definition.class
(object_declaration (class_body)? @body) @definition.class
(companion_object (class_body)? @body (#set! name "Companion")) @definition.class
(type_alias type: (_) @name) @definition.type
(function_declaration (function_body)? @body) @definition.function
(property_declaration
  (variable_declaration . (identifier) @name) [(getter) (setter)]) @definition.method
((property_declaration
    (modifiers (property_modifier) @_const)
    (variable_declaration . (identifier) @name) . (_)? @value) @definition.constant
  (#eq? @_const "const"))
((property_declaration
    (variable_declaration . (identifier) @name) . (_)? @value) @definition.constant
  (#match? @name "^[A-Z][A-Z0-9_]*$"))

(object_literal) @anonymous
(source_file (annotated_expression) @misread) ; a class with a comment among its annotations
(annotation) @decorator
(line_comment) @comment
(block_comment) @comment

(import (qualified_identifier) @module "*" @imported) @import
(import (qualified_identifier) @module @module.dotted) @import

;;; Inside

(function_declaration (function_value_parameters
  (parameter . (identifier) @name (function_type)))) @local

(call_expression
  . (call_expression
    . [(identifier) (navigation_expression) (this_expression) (super_expression)] @name
    (value_arguments))
  (annotated_lambda)) @reference.call
(call_expression . [
  (identifier) (navigation_expression) (parenthesized_expression) (index_expression)
  (this_expression) (super_expression) (string_literal) (unary_expression)] @name) @reference.call
(value_argument . (identifier) @keyword "=")
(string_literal) @string
(multiline_string_literal) @string
(lambda_literal) @block
(anonymous_function) @block

(throw_expression (call_expression . (_) @exception)) @raise
((call_expression . (call_expression . (identifier) @exception)) @raise
  (#any-of? @exception "error" "require" "requireNotNull" "check" "checkNotNull"))
((call_expression . (identifier) @exception) @raise
  (#any-of? @exception "error" "require" "requireNotNull" "check" "checkNotNull"))

(enum_entry . (identifier) @name (value_arguments)? @value) @member.enum
(class_parameter ["val" "var"] (identifier) @name . (_) @value . (_)? @value) @member.field
(class_body (property_declaration
  (variable_declaration . (identifier) @name . (_)? @value) . (_)? @value) @member.field)

((function_declaration name: (_) @name) @hook (#any-of? @name "setUp" "tearDown"))
((function_declaration (modifiers (annotation [
    (user_type (identifier) @name)
    (constructor_invocation (user_type (identifier) @name))]))) @hook
  (#match? @name "^(Before|After)(Each|All|Class|Test|Suite|Method)?$"))
((call_expression . (identifier) @name (annotated_lambda)) @hook
  (#match? @name "^(before|after)(Test|Spec|Each|Any|Container|Project)$"))

; Swift: XCTest, Swift Testing, Quick.

((attribute) @decorator.test (#match? @decorator.test "^@Test\\b"))
((class_body (function_declaration) @test @only.tests)
  (#match? @test "^[^{]*?\\bfunc\\s+test([A-Z0-9_]\\w*)?\\s*\\("))
((call_expression . (simple_identifier) @runner
    (call_suffix
      (value_arguments . (value_argument value: (line_string_literal) @name))
      (lambda_literal))) @test.group @only.tests
  (#match? @runner "^[xf]?(describe|context)$"))
((call_expression . (simple_identifier) @runner
    (call_suffix
      (value_arguments . (value_argument value: (line_string_literal) @name))
      (lambda_literal))) @test @only.tests
  (#match? @runner "^([xf]?it|test)$"))
((call_expression . (simple_identifier) @_skip) @test.skip (#match? @_skip "^XCTSkip"))

(class_declaration "enum" name: (_) @name body: (_) @body) @definition.enum
(class_declaration) @definition.class
(protocol_declaration) @definition.interface
(typealias_declaration) @definition.type
(associatedtype_declaration) @definition.type
(macro_declaration . (simple_identifier) @name) @definition.function
(function_declaration) @definition.function
(protocol_function_declaration) @definition.method
(init_declaration (#set! name "init")) @definition.method
((source_file (property_declaration
    (value_binding_pattern) @_let name: (_) @name value: (_) @value) @definition.constant)
  (#eq? @_let "let"))
((property_declaration
    (modifiers (property_modifier) @_static)
    (value_binding_pattern) @_let name: (_) @name value: (_) @value) @definition.constant
  (#eq? @_let "let") (#eq? @_static "static"))

(attribute) @decorator
(comment) @comment
(multiline_comment) @comment

(import_declaration (identifier . (simple_identifier) @module . (simple_identifier)? @imported))
  @import

;;; Inside

(call_expression . (_) @name (call_suffix)) @reference.call
(macro_invocation (simple_identifier) @name) @reference.call
(value_argument_label) @keyword
(line_string_literal) @string
(multi_line_string_literal) @string
(raw_string_literal) @string
(lambda_literal) @block

(control_transfer_statement (throw_keyword) (call_expression . (_) @exception)) @raise
((call_expression . (simple_identifier) @exception) @raise
  (#any-of? @exception
    "fatalError" "precondition" "preconditionFailure" "assertionFailure" "assert"))

(enum_entry name: (simple_identifier) @name . raw_value: (_) @value) @member.enum
(enum_entry name: (simple_identifier) @name . data_contents: (_) @value) @member.enum
(enum_entry name: (simple_identifier) @name) @member.enum
([
  (class_body (property_declaration
    name: (pattern) @name (type_annotation)? @value value: (_)? @value) @member.field)
  (enum_class_body (property_declaration
    name: (pattern) @name (type_annotation)? @value value: (_)? @value) @member.field)])
(protocol_property_declaration name: (pattern) @name (type_annotation)? @value) @member.field

((function_declaration) @hook
  (#match? @hook "^[^{]*?\\bfunc\\s+(setUp|tearDown)(WithError)?\\s*\\("))
((call_expression . (simple_identifier) @name (call_suffix (lambda_literal))) @hook
  (#match? @name "^((before|after)(Each|All|Suite)|justBeforeEach)$"))

; PHP: PHPUnit, Pest.

((attribute_group) @decorator.test (#match? @decorator.test "\\bTest\\b"))
((method_declaration name: (_) @name body: (_)? @body) @test @only.tests
  (#match? @name "^test[A-Z0-9_]"))
((comment) @comment.test
  (#match? @comment.test "(^|\\n)\\s*(/\\*)?\\*+\\s*@test\\b"))
((member_call_expression
    object: (function_call_expression
      function: (name) @runner arguments: (arguments . (argument [(string) (encapsed_string)] @name)))
      @chained
    name: (name) @_mark) @test @only.tests
  (#any-of? @runner "test" "it" "todo") (#match? @_mark "^(skip|todo|only|fails)"))
((function_call_expression
    function: (name) @runner
    arguments: (arguments . (argument [(string) (encapsed_string)] @name))) @test @only.tests
  (#any-of? @runner "test" "it" "todo"))
((function_call_expression
    function: (name) @runner
    arguments: (arguments . (argument [(string) (encapsed_string)] @name))) @test.group @only.tests
  (#eq? @runner "describe"))
([
    (member_call_expression name: (name) @_skip)
    (scoped_call_expression name: (name) @_skip)] @test.skip
  (#any-of? @_skip "markTestSkipped" "markTestIncomplete"))

(class_declaration) @definition.class
(trait_declaration) @definition.class
(interface_declaration) @definition.interface
(enum_declaration) @definition.enum
(method_declaration) @definition.method
(function_definition) @definition.function
(const_declaration (const_element . (_) @name (_)? @value)) @definition.constant
(anonymous_class) @anonymous
(attribute_group) @decorator
(comment) @comment

(namespace_use_declaration
  (namespace_name) @module
  body: (namespace_use_group (namespace_use_clause . (_) @imported))) @import
(namespace_use_declaration (namespace_use_clause
  . (qualified_name prefix: (_) @module (name) @imported))) @import
(namespace_use_declaration (namespace_use_clause . (name) @module)) @import
(expression_statement [
  (require_once_expression [(string) @module (binary_expression right: (string) @module)])
  (require_expression [(string) @module (binary_expression right: (string) @module)])
  (include_once_expression [(string) @module (binary_expression right: (string) @module)])
  (include_expression [(string) @module (binary_expression right: (string) @module)])]) @import

;;; Inside

(function_call_expression function: (_) @name) @reference.call
(member_call_expression name: (_) @name) @reference.call
(nullsafe_member_call_expression name: (_) @name) @reference.call
(scoped_call_expression name: (_) @name) @reference.call
(object_creation_expression [(name) (qualified_name)] @name) @reference.call
(argument name: (name) @keyword)
(string) @string
(encapsed_string) @string
(heredoc) @string
(nowdoc) @string
(anonymous_function) @block
(arrow_function) @block

(throw_expression (object_creation_expression [(name) (qualified_name)] @exception)) @raise
(throw_expression (scoped_call_expression scope: (_) @exception name: (_) @exception)) @raise

(enum_case name: (_) @name value: (_)? @value) @member.enum
(property_declaration
  type: (_)? @value (property_element name: (_) @name default_value: (_)? @value)) @member.field
(property_promotion_parameter type: (_)? @value name: (_) @name) @member.field

((method_declaration
    attributes: (attribute_list (attribute_group (attribute (name) @name)))) @hook
  (#match? @name "^(Before|After)(Class)?$"))
((method_declaration name: (_) @name) @hook
  (#match? @name "^(setUp(BeforeClass)?|tearDown(AfterClass)?)$"))
((function_call_expression function: (name) @name) @hook
  (#match? @name "^(before|after)(Each|All)$"))

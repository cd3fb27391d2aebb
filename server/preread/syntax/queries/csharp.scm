; C#: xUnit, NUnit, MSTest.

((attribute_list) @decorator.test
  (#match? @decorator.test "\\b(\\w*Fact|\\w*Theory|Test|TestCase|TestCaseSource|TestMethod|DataTestMethod|Property)(Attribute)?\\b[^.]"))

(class_declaration) @definition.class
(struct_declaration) @definition.class
(record_declaration) @definition.class
(interface_declaration) @definition.interface
(enum_declaration) @definition.enum
(delegate_declaration) @definition.type
(method_declaration) @definition.method
(constructor_declaration) @definition.method
(property_declaration value: (arrow_expression_clause) @body) @definition.method
(property_declaration
  accessors: (accessor_list . (accessor_declaration body: (_))) @body) @definition.method
(property_declaration) @definition.constant
(local_function_statement) @definition.function
((field_declaration
    (modifier) @_const
    (variable_declaration (variable_declarator name: (_) @name (_)? @value)))
    @definition.constant
  (#eq? @_const "const"))
((field_declaration
    (modifier) @_static
    (modifier) @_readonly
    (variable_declaration (variable_declarator name: (_) @name (_)? @value)))
    @definition.constant
  (#eq? @_static "static") (#eq? @_readonly "readonly"))

(attribute_list) @decorator
(comment) @comment

(using_directive name: (_) (_) @module .) @import
(using_directive . (_) @module .) @import

;;; Inside

(invocation_expression function: (_) @name) @reference.call
(object_creation_expression type: (_) @name) @reference.call
(argument name: (identifier) @keyword)
(string_literal) @string
(interpolated_string_expression) @string
(verbatim_string_literal) @string
(raw_string_literal) @string
(lambda_expression) @block
(anonymous_method_expression) @block

(throw_statement (object_creation_expression type: (_) @exception)) @raise
(throw_expression (object_creation_expression type: (_) @exception)) @raise

(enum_member_declaration name: (_) @name value: (_)? @value) @member.enum
(property_declaration type: (_) @value name: (_) @name value: (_)? @value) @member.field
(field_declaration (variable_declaration
  type: (_) @value (variable_declarator name: (_) @name (_)? @value))) @member.field

((method_declaration (attribute_list (attribute name: (_) @name))) @hook
  (#match? @name "^((OneTime)?(SetUp|TearDown)|(Test|Class|Assembly)(Initialize|Cleanup))$"))
((method_declaration name: (_) @name) @hook (#eq? @name "InitializeAsync"))
; xUnit sets up in the constructor of the tests' class.
((class_declaration body: (declaration_list
    (constructor_declaration name: (_) @name) @hook
    (method_declaration (attribute_list (attribute name: (_) @_test)))))
  (#match? @_test "^(\\w*Fact|\\w*Theory)$"))

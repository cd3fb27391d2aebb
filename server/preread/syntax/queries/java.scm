; Java: JUnit, TestNG, jqwik.

([(marker_annotation) (annotation)] @decorator.test
  (#match? @decorator.test "^@(\\w+\\.)*(\\w*Test|TestFactory|TestTemplate|Property)\\b"))
((class_declaration
    superclass: (superclass (_) @_super)
    body: (class_body (method_declaration name: (identifier) @name) @test @only.tests))
  (#match? @name "^test") (#match? @_super "TestCase$"))

(class_declaration) @definition.class
(record_declaration) @definition.class
(interface_declaration) @definition.interface
(annotation_type_declaration) @definition.interface
(enum_declaration) @definition.enum
(method_declaration) @definition.method
(constructor_declaration) @definition.method
(compact_constructor_declaration) @definition.method
(annotation_type_element_declaration) @definition.method
((field_declaration
    (modifiers) @_static
    declarator: (variable_declarator name: (_) @name value: (_)? @value)) @definition.constant
  (#match? @_static "\\bstatic\\b") (#match? @_static "\\bfinal\\b"))
(interface_body (constant_declaration
  declarator: (variable_declarator name: (_) @name value: (_)? @value)) @definition.constant)

(object_creation_expression (class_body) @anonymous)
(enum_constant (class_body) @anonymous)
[(marker_annotation) (annotation)] @decorator
(line_comment) @comment
(block_comment) @comment

(import_declaration (_) @module (asterisk) @imported) @import
(import_declaration (_) @module @module.dotted) @import

;;; Inside

(method_invocation name: (_) @name) @reference.call
(object_creation_expression type: (_) @name) @reference.call
(string_literal) @string
(lambda_expression) @block
(class_body) @block

(throw_statement (object_creation_expression type: (_) @exception) @raise)
((object_creation_expression type: (_) @exception) @raise
  (#match? @exception "(Exception|Error)$"))

(enum_constant name: (_) @name arguments: (_)? @value) @member.enum
((class_body (field_declaration
    declarator: (variable_declarator name: (_) @name value: (_)? @value)) @member.constant)
  (#match? @name "^[A-Z][A-Z0-9_]*$"))
(class_body (field_declaration
  type: (_) @value
  declarator: (variable_declarator name: (_) @name value: (_)? @value)) @member.field)

((method_declaration (modifiers [(marker_annotation name: (_) @name) (annotation name: (_) @name)]))
  @hook
  (#match? @name "^(Before|After)(Each|All|Class|Test|Suite|Method)?$"))

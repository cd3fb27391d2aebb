; C: Check, Unity, cmocka, Criterion, and what C++ has in common with it.

((function_definition
    type: (_) @_start declarator: (parenthesized_declarator (identifier) @name)) @test
  (#eq? @_start "START_TEST"))
((function_definition
    declarator: (function_declarator
      declarator: (identifier) @runner
      parameters: (parameter_list . (parameter_declaration) @owner . (parameter_declaration) @name .)))
    @test
  (#match? @runner "^((TYPED_)?TEST(_[FPCG]|_GROUP)?|Test|Theory)$"))
((function_definition
    declarator: (function_declarator
      declarator: (identifier) @runner
      parameters: (parameter_list . (parameter_declaration) @name))) @test
  (#match? @runner "^((TYPED_)?TEST(_[FPCG]|_GROUP)?|BOOST_(AUTO|FIXTURE|DATA)_TEST_CASE|MU_TEST)$"))
; A test has no parameters, or pointers that a runner gives it: with a value it is a helper.
((function_definition
    declarator: (function_declarator declarator: (identifier) @name parameters: (_) @_given))
    @test @only.tests
  (#match? @name "^((test_|Test)\\w+|test[A-Z]\\w*|\\w+_test)$")
  (#not-match? @_given "\\w\\s+\\w+\\s*[,)]"))
((function_definition
    type: (type_identifier) @decorator.ignored
    declarator: (function_declarator declarator: (identifier) @_test))
  (#match? @_test "^((TYPED_)?TEST(_[FPCG])?|BOOST_(AUTO|FIXTURE|DATA)_TEST_CASE)$"))
((call_expression function: (identifier) @_skip) @test.skip
  (#any-of? @_skip "GTEST_SKIP" "SKIP" "TEST_IGNORE" "TEST_IGNORE_MESSAGE" "skip"))
; What ends a test of Check has no semicolon: it counts as the type of the next function.
((function_definition type: (type_identifier) @decorator.ignored)
  (#eq? @decorator.ignored "END_TEST"))

((function_definition
    declarator: [
      (function_declarator declarator: (_) @name)
      (_ declarator: (function_declarator declarator: (_) @name))
      (_ (function_declarator declarator: (_) @name))
      (_ declarator: (_ declarator: (function_declarator declarator: (_) @name)))]
    body: (_)? @body) @definition.function
  (#not-any-of? @name "if" "for" "while" "switch" "return" "sizeof" "defined"))
(struct_specifier body: (_)) @definition.class
(union_specifier body: (_)) @definition.class
(enum_specifier body: (_)) @definition.enum
(type_definition
  type: [(struct_specifier !name body: (_) @body) (union_specifier !name body: (_) @body)]
  declarator: (type_identifier) @name) @definition.class
(type_definition
  type: (enum_specifier !name body: (_) @body)
  declarator: (type_identifier) @name) @definition.enum
(type_definition declarator: [
  (type_identifier) @name
  (_ declarator: (type_identifier) @name)
  (_ declarator: (_ (_ declarator: (type_identifier) @name)))]) @definition.type
(preproc_def name: (_) @name value: (_) @value) @definition.constant
(preproc_function_def) @definition.function
((declaration
    (type_qualifier) @_const
    declarator: (init_declarator
      declarator: [
        (identifier) @name
        (array_declarator declarator: (identifier) @name)
        (array_declarator declarator: (_ declarator: (identifier) @name))]
      value: (_) @value)) @definition.constant
  (#match? @_const "^const"))
(comment) @comment

(preproc_include path: (_) @module) @import

;;; Inside

(call_expression function: (_) @name) @reference.call
(string_literal) @string
(field_designator (field_identifier) @keyword)

(enumerator name: (_) @name value: (_)? @value) @member.enum
(field_declaration type: (_) @value declarator: [
  (field_identifier) @name
  (pointer_declarator declarator: (field_identifier) @name)
  (array_declarator declarator: (field_identifier) @name)
  (pointer_declarator declarator: (pointer_declarator declarator: (field_identifier) @name))
  (function_declarator declarator:
    (parenthesized_declarator (pointer_declarator declarator: (field_identifier) @name)))])
  @member.field

((call_expression function: (_) @exception) @raise
  (#match? @exception "(?i)^(\\w+::)*(?!expect|assert|check|test)\\w*(error|fatal|die|panic|invalid|throw_)|^(errx?|warnx?)$"))

((function_definition declarator: (function_declarator declarator: (_) @name)) @hook
  (#match? @name "^((SetUp|TearDown)(TestSuite|TestCase)?|setUp|tearDown|(group_)?(setup|teardown))$"))

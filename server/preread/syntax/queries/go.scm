; Go: its own tests, those of testify's suites, and the rows of tables of tests.

((function_declaration name: (identifier) @name parameters: (_) @_given body: (_) @body) @test @only.tests
  (#match? @name "^(Test|Benchmark|Fuzz|Example)([^a-z]|$)") (#not-eq? @name "TestMain")
  (#match? @_given "^\\(\\s*\\)$|testing\\."))
((method_declaration
    receiver: (parameter_list (parameter_declaration type: [
      (type_identifier) @owner
      (pointer_type (type_identifier) @owner)]))
    name: (_) @name) @test @only.tests
  (#match? @name "^Test") (#match? @owner "Suite"))
((call_expression
    function: (selector_expression field: (_) @_run) @runner
    arguments: (argument_list . (_) @name . (_) .)) @test @only.tests
  (#eq? @_run "Run") (#match? @runner "^(t|b|tt|tb|s|c|f|suite)\\.|\\.T\\(\\)\\."))
((call_expression
    function: (selector_expression field: (_) @_run) @runner
    arguments: (argument_list . (_) @name . (func_literal) .)) @test @only.tests
  (#eq? @_run "Run"))
((literal_value (keyed_element
    . (literal_element (identifier) @_key)
    (literal_element [(interpreted_string_literal) (raw_string_literal)] @name))) @test.row @only.tests
  (#any-of? @_key "name" "desc" "description"))
((call_expression function: (selector_expression field: (_) @_skip)) @test.skip
  (#any-of? @_skip "Skip" "Skipf" "SkipNow"))

(function_declaration) @definition.function
(method_declaration
  receiver: (parameter_list (parameter_declaration type: [
    (type_identifier) @owner
    (generic_type type: (_) @owner)
    (pointer_type [(type_identifier) @owner (generic_type type: (_) @owner)])]))
  name: (_) @name
  body: (_)? @body) @definition.method
(type_spec type: (struct_type)) @definition.class
(type_spec type: (interface_type)) @definition.interface
(type_spec) @definition.type
(type_alias) @definition.type
((source_file (const_declaration (const_spec name: (identifier) @name) @definition.constant))
  (#not-eq? @name "_"))
((source_file (var_declaration [
    (var_spec name: (identifier) @name) @definition.constant
    (var_spec_list (var_spec name: (identifier) @name) @definition.constant)]))
  (#not-eq? @name "_"))

(import_spec path: (_) @module) @import
(comment) @comment

;;; Inside

([
  (function_declaration parameters: (parameter_list
    (parameter_declaration name: (identifier) @name type: (function_type))))
  (method_declaration parameters: (parameter_list
    (parameter_declaration name: (identifier) @name type: (function_type))))
  (func_literal parameters: (parameter_list
    (parameter_declaration name: (identifier) @name type: (function_type))))
] @local)

(call_expression function: (_) @name) @reference.call
(interpreted_string_literal) @string
(raw_string_literal) @string
(keyed_element . (literal_element (identifier) @keyword))
(func_literal) @block

((call_expression function: (_) @exception) @raise
  (#any-of? @exception
    "errors.New" "fmt.Errorf" "panic" "errors.Errorf" "errors.Wrap" "errors.Wrapf"))

(type_spec type: (struct_type (field_declaration_list
  (field_declaration name: (_) @name type: (_) @value tag: (_)? @value) @member.field)))

; The constants of one typed block, or of one that counts, are the members of an enum.
((source_file (const_declaration
    (const_spec name: (identifier) @name type: (_) @owner value: (_)? @value) @member.enum))
  (#not-any-of? @owner "string" "int" "bool"))
((source_file (const_declaration
    . (const_spec type: (_) @owner)
    (const_spec name: (identifier) @name !type value: (_)? @value) @member.enum))
  (#not-any-of? @owner "string" "int" "bool"))
((source_file (const_declaration
    (const_spec name: (identifier) @name value: (_)? @value) @member.enum) @_block)
  (#match? @_block "\\biota\\b"))
(source_file (const_declaration
  (const_spec name: (identifier) @name value: (_)? @value) @member.constant))

([(function_declaration name: (_) @name) (method_declaration name: (_) @name)] @hook
  (#match? @name "^((Set[Uu]p|Tear[Dd]own)(Test|Suite|SubTest)|TestMain)$"))

; What JavaScript and TypeScript have in common.

; Tests: Jest, Vitest, Mocha, Jasmine, Cypress, Playwright

((call_expression
    function: (_) @runner
    arguments: (arguments
      . [(string) (template_string) (identifier) (member_expression) (binary_expression)] @name
      [(arrow_function) (function_expression)])) @test.group
  (#match? @runner "^(describe|context|suite|[fx]describe|xcontext|(it|test)\\.describe)(\\.(skip|fixme|only|todo|skipIf|runIf|concurrent|each|for|serial|parallel|sequential|shuffle))*($|[(`])"))

((call_expression
    function: (_) @runner
    arguments: (arguments
      . [(string) (template_string) (identifier) (member_expression) (binary_expression)] @name
      [(arrow_function) (function_expression)])) @test
  (#match? @runner "^(it|test|specify|[fx]it|xtest|xspecify)(\\.(skip|fixme|only|fail|fails|failing|todo|skipIf|runIf|slow|concurrent|each|for|sequential|serial|extend))*($|[(`])"))
((call_expression function: (_) @runner arguments: (arguments . [(string) (template_string)] @name)) @test
  (#match? @runner "^(it|test|specify)\\.todo$"))
((call_expression function: (_) @runner arguments: (arguments . (string) @name (_))) @test
  (#match? @runner "^(it|test|specify|[fx]it|xtest|xspecify)(\\.(skip|fixme|only|fail|fails|failing|skipIf|runIf|slow|concurrent))*($|\\()"))

; import { test as setup }, const authTest = base.extend({…})
((import_specifier name: (identifier) @_test alias: (identifier) @test.alias)
  (#any-of? @_test "it" "test" "specify"))
((variable_declarator
    name: (identifier) @test.alias
    value: (call_expression function: (member_expression property: (_) @_extend) @_whole))
  (#eq? @_extend "extend") (#match? @_whole "^\\w*([tT]est|[bB]ase|[iI]t)\\b"))
; const itOnLinux = isLinux ? it : it.skip
((variable_declarator
    name: (identifier) @test.alias
    value: (ternary_expression consequence: (_) @_one alternative: (_) @_other))
  (#match? @_one "^(it|test)(\\.|$)") (#match? @_other "^(it|test)(\\.|$)"))
(call_expression
  function: [(identifier) (member_expression)] @runner
  arguments: (arguments
    . [(string) (template_string)] @name
    [(arrow_function) (function_expression)])) @test.aliased

((call_expression function: (member_expression object: (_) @_on property: (_) @_state)) @test.skip
  (#any-of? @_state "skip" "fixme" "fail" "slow") (#match? @_on "^(\\w*[tT]est|it|this|ctx)$"))

; Functions and components, which return markup

((function_declaration name: (identifier) @name body: (_) @body) @definition.component
  (#match? @name "^[A-Z]") (#match? @body "</|/>")
  (#match? @body "(\\breturn\\b|=>|[(?:]|&&|\\|\\|)\\s*\\(?\\s*<[A-Za-z>]"))
((variable_declarator
    name: (identifier) @name
    value: [
      (arrow_function body: (_) @body)
      (function_expression body: (_) @body)
      (call_expression function: (_) @_wraps arguments: (arguments . [
        (arrow_function body: (_) @body)
        (function_expression body: (_) @body)
        (call_expression arguments: (arguments . [
          (arrow_function body: (_) @body)
          (function_expression body: (_) @body)]))]))]) @definition.component
  (#match? @name "^[A-Z]") (#match? @body "</|/>")
  (#match? @_wraps "^(\\w+\\.)?(memo|forwardRef|cache|reactCache|observer|useCallback|debounce|throttle|with[A-Z]\\w*)$")
  (#match? @body "^\\s*\\(?\\s*<|(\\breturn\\b|=>|[(?:]|&&|\\|\\|)\\s*\\(?\\s*<[A-Za-z>]"))

(function_declaration) @definition.function
(generator_function_declaration) @definition.function
(variable_declarator name: (identifier) @name value: [
  (arrow_function body: (_) @body)
  (function_expression body: (_) @body)
  (generator_function body: (_) @body)
  (parenthesized_expression [(arrow_function body: (_) @body) (function_expression body: (_) @body)])
]) @definition.function
((variable_declarator
    name: (identifier) @name
    value: (call_expression function: (_) @_wraps arguments: (arguments . [
      (arrow_function body: (_) @body)
      (function_expression body: (_) @body)
      (call_expression arguments: (arguments . [
        (arrow_function body: (_) @body)
        (function_expression body: (_) @body)]))]))) @definition.function
  (#match? @_wraps "^(\\w+\\.)?(memo|forwardRef|cache|reactCache|observer|useCallback|debounce|throttle|with[A-Z]\\w*)$"))
((assignment_expression
  left: (member_expression property: (property_identifier) @name)
  right: [(arrow_function body: (_) @body) (function_expression body: (_) @body)])
  @definition.function
  (#not-eq? @name "exports"))
; module.exports = function named() {}
((assignment_expression
  left: (member_expression property: (property_identifier) @_exports)
  right: (function_expression name: (identifier) @name body: (_) @body))
  @definition.function
  (#eq? @_exports "exports"))
((assignment_expression
  left: (member_expression property: (property_identifier) @name)
  right: (function_expression !name body: (_) @body))
  @definition.function
  (#eq? @name "exports"))
(export_statement value: [
    (arrow_function body: (_) @body)
    (function_expression body: (_) @body)
    (generator_function body: (_) @body)]
  (#set! name "default")) @definition.function

; Classes, and objects of functions

(class_declaration) @definition.class
(variable_declarator name: (identifier) @name value: (class body: (_) @body)) @definition.class
(assignment_expression
  left: (member_expression property: (property_identifier) @name)
  right: (class body: (_) @body)) @definition.class
(export_statement value: (class body: (_) @body) (#set! name "default")) @definition.class
(class_body (method_definition name: (_) @name body: (_) @body) @definition.method)
(object (method_definition name: (_) @name body: (_) @body) @definition.method)

(return_statement (object (pair
  key: [(property_identifier) (string)] @name
  value: [(arrow_function body: (_) @body) (function_expression body: (_) @body)])
    @definition.method))
(variable_declarator value: (object (pair
  key: [(property_identifier) (string)] @name
  value: [(arrow_function body: (_) @body) (function_expression body: (_) @body)])
    @definition.method))
(variable_declarator value: (call_expression arguments: (arguments (object (pair
  key: [(property_identifier) (string)] @name
  value: [(arrow_function body: (_) @body) (function_expression body: (_) @body)])
    @definition.method))))
(export_statement value: (object (pair
  key: [(property_identifier) (string)] @name
  value: [(arrow_function body: (_) @body) (function_expression body: (_) @body)])
    @definition.method))
(export_statement value: (object) (#set! name "default")) @definition.constant

; Imports

(import_statement
  (import_clause [
    (identifier) @imported
    (namespace_import) @imported
    (named_imports (import_specifier name: (_) @imported))])?
  source: (string) @module) @import
(export_statement
  (export_clause (export_specifier name: (_) @imported))
  source: (string) @module) @import
(export_statement "*" @imported source: (string) @module) @import
((variable_declarator
    name: [(identifier) @imported (object_pattern [
      (shorthand_property_identifier_pattern) @imported
      (pair_pattern key: (_) @imported)])]
    value: (call_expression function: (identifier) @_require
      arguments: (arguments . (string) @module))) @import
  (#eq? @_require "require"))

; Constants of the module

((variable_declarator value: (call_expression function: (identifier) @_require)) @anonymous
  (#eq? @_require "require"))
((program [
    (lexical_declaration (variable_declarator name: (identifier) @name value: (_) @value)
      @definition.constant)
    (variable_declaration (variable_declarator name: (identifier) @name value: (_) @value)
      @definition.constant)
    (export_statement (lexical_declaration
      (variable_declarator name: (identifier) @name value: (_) @value) @definition.constant))])
  (#match? @name "^[A-Z][A-Z0-9_]*$"))
(program [
  (lexical_declaration (variable_declarator name: (identifier) @name value: [
    (string) (number) (template_string) (true) (false) (array) (unary_expression) (regex)
    (binary_expression)] @value) @definition.constant)
  (variable_declaration (variable_declarator name: (identifier) @name value: [
    (string) (number) (template_string) (true) (false) (array) (unary_expression) (regex)
    (binary_expression)] @value) @definition.constant)
  (export_statement (lexical_declaration (variable_declarator name: (identifier) @name value: [
    (string) (number) (template_string) (true) (false) (array) (unary_expression) (regex)
    (binary_expression)] @value) @definition.constant))])
(program [
  (lexical_declaration (variable_declarator name: (identifier) @name) @definition.constant)
  (variable_declaration (variable_declarator name: (identifier) @name) @definition.constant)
  (export_statement [
    (lexical_declaration (variable_declarator name: (identifier) @name) @definition.constant)
    (variable_declaration (variable_declarator name: (identifier) @name) @definition.constant)])])

(program (_ [
  (statement_block (lexical_declaration
    (variable_declarator name: (identifier) @name) @definition.constant))
  (else_clause (statement_block (lexical_declaration
    (variable_declarator name: (identifier) @name) @definition.constant)))]))

(decorator) @decorator
(comment) @comment

;;; Inside

(arrow_function parameter: (identifier) @name) @local

(call_expression function: (_) @name) @reference.call
(new_expression constructor: (_) @name) @reference.call
(pair key: (_) @keyword)
(shorthand_property_identifier) @keyword
(object (method_definition name: (_) @keyword))
(string) @string
(template_string) @string
(arrow_function) @block
(function_expression) @block
(class_body) @block
(subscript_expression) @block

(throw_statement [
  (new_expression constructor: (_) @exception)
  (call_expression function: (_) @exception)]) @raise

((call_expression
    function: (member_expression property: (_) @_option)
    arguments: (arguments . (string) @member.option @name))
  (#any-of? @_option "option" "requiredOption" "addOption" "positional"))

((call_expression function: (_) @name) @hook
  (#match? @name "^((\\w+\\.)?(beforeEach|beforeAll|afterEach|afterAll)|before|after|suiteSetup|suiteTeardown)$"))
((call_expression
    function: (member_expression property: (_) @_extend)
    arguments: (arguments (object [
      (pair key: (_) @name) @hook.fixture
      (method_definition name: (_) @name) @hook.fixture])))
  (#eq? @_extend "extend"))

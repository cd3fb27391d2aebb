; The words of every query in this folder. One capture of a pattern says what is found, the others
; are its parts. Where two patterns capture one node, the one that stands first counts.
;
; Above the line ";;; Inside": what makes an outline.
;   @definition.<kind>   a symbol; kinds are those of model.SymbolKind, or of tags.scm
;       @name, @body     the nodes in the fields of these names, where nothing is captured
;       @value           of a constant, which is then a member too
;       @doc             its comment, in tags.scm
;       @owner           the type of a member that is written outside of it
;       (#set! name "…") where the definition itself has no name
;   @misread             what the grammar took for something else: plain rules read it again
;   @scope, @scope.type  is no symbol, but holds some: a module; a type, so that it holds methods
;   @anonymous           what it holds are no definitions of the file: an object made in place
;   @test                a test, with @name, or named by its text
;       @runner          what is called to declare it, which may say `.skip`
;       @mark            another mark of it; @body a block that stands behind it
;       @owner           its suite
;       @chained         the part of it that what stands behind is a mark of: `it(…)->skip()`
;   @test.group          a group of such tests; the same parts
;   @test.row            a test, if it stands in one
;   @test.aliased        a test if @runner is one of the names captured as @test.alias
;   @test.param          something that the test in @owner asks for
;   @test.skip, @test.mark  marks of the test, or of all tests of the scope, that they stand in
;   @decorator, @comment, @docstring; @decorator.test and @comment.test make a test of the function;
;                        @decorator.ignored is none, and no part of what it stands in
;   @import              with @module and @imported, each name a match of its own
;
; Below it: what stands inside of definitions.
;   @reference.call      a call, from its start to the end of @name, with the arguments behind
;   @string, @keyword    what may be given to a call; @block what hides it from the call around
;   @member.<kind>       with @name, @value, and @owner where it is not the type around;
;                        @member.none is none, though later patterns say so
;   @local               a function, and with @name one of its parameters: a call of that name
;                        calls what was passed, not a definition that is called the same
;   @family              names the owner of the fields and literals of a type, with @name
;   @raise               with @exception; its message is read from the strings in it
;   @hook, @hook.fixture what runs around tests, with @name
;   @attribute           with @element, @name and @value
;
; Predicates and settings do not stand in one pattern: the binding to Python crashes when it frees
; such a query (0.25 and 0.26). That is why @only.tests and the like are captures.

; Tests: pytest and unittest

((module [
    (function_definition name: (identifier) @name) @test @only.tests
    (decorated_definition definition: (function_definition name: (identifier) @name) @test @only.tests)
    (if_statement (block [
      (function_definition name: (identifier) @name) @test @only.tests
      (decorated_definition
        definition: (function_definition name: (identifier) @name) @test @only.tests)]))])
  (#match? @name "^test"))

((class_definition
    name: (identifier) @_class
    body: (block [
      (function_definition name: (identifier) @name) @test @only.tests
      (decorated_definition definition: (function_definition name: (identifier) @name) @test @only.tests)]))
  (#match? @name "^test") (#match? @_class "^[Tt][Ee][Ss][Tt]"))
((class_definition
    superclasses: (_) @_bases
    body: (block [
      (function_definition name: (identifier) @name) @test @only.tests
      (decorated_definition definition: (function_definition name: (identifier) @name) @test @only.tests)]))
  (#match? @name "^test") (#match? @_bases "Test\\b|Case\\b|Tests?\\w*\\)|Mixin\\b"))

((function_definition parameters: (parameters [
    (identifier) @test.param
    (typed_parameter . (identifier) @test.param)])) @owner
  (#not-match? @test.param "^(self|cls)$"))

((call function: (_) @_skips) @test.skip
  (#match? @_skips "^(pytest\\.(skip|xfail|importorskip|fail)|self\\.skipTest)$"))
((assignment left: (identifier) @_name) @test.mark (#eq? @_name "pytestmark"))

; Definitions

(class_definition) @definition.class
(function_definition) @definition.function
(type_alias_statement left: (type . [(identifier) @name (generic_type . (identifier) @name)]))
  @definition.type

((expression_statement (assignment left: (identifier) @name right: (_)? @value) @definition.constant)
  (#match? @name "^_{0,2}[A-Z][A-Z0-9_]*$"))
((expression_statement (assignment left: (identifier) @name) @definition.constant)
  (#match? @name "^_{0,2}[A-Z]"))

(block . (comment)* . (expression_statement . (string (string_content) @docstring)))
(decorator) @decorator
(comment) @comment

; Imports

(import_statement name: [(dotted_name) @module (aliased_import name: (_) @module)]) @import
(import_from_statement module_name: (_) @module (wildcard_import) @imported) @import
(import_from_statement
  module_name: (_) @module
  name: [(dotted_name) @imported (aliased_import name: (_) @imported)]) @import
(future_import_statement "__future__" @module name: (_) @imported) @import

;;; Inside

(call function: (_) @name) @reference.call
(keyword_argument name: (identifier) @keyword)
(pair key: (string) @keyword)
(string) @string
(lambda) @block
(subscript) @block

((class_definition
    superclasses: (_) @_bases
    body: (block (expression_statement
      (assignment left: (identifier) @name !type right: (_) @value) @member.enum)))
  (#match? @_bases "Enum\\b|Flag\\b|Choices\\b") (#not-match? @name "^_"))
(class_definition body: (block (expression_statement
  (assignment left: (identifier) @name type: (_) @value right: (_)? @value) @member.field)))
((class_definition body: (block (expression_statement
    (assignment left: (identifier) @name right: (call) @value) @member.field)))
  (#not-match? @name "^_{0,2}[A-Z][A-Z0-9_]*$"))

((module (expression_statement (assignment
    left: (identifier) @owner
    right: (subscript value: (_) @_literal subscript: (string) @member.union @name @value))))
  (#match? @_literal "(^|\\.)Literal$"))

((decorated_definition
    (decorator (call function: (_) @_option
      arguments: (argument_list (string) @member.option @name)))
    definition: (_ name: (_) @owner))
  (#match? @_option "(^|\\.)([oO]ption|[aA]rgument)$"))
((call function: (_) @_option arguments: (argument_list (string) @member.option @name))
  (#match? @_option "(^|\\.)([oO]ption|[aA]rgument|add_argument|add_option)$"))

(raise_statement . (call function: (_) @exception)) @raise

((function_definition name: (identifier) @name) @hook
  (#any-of? @name "setUp" "tearDown" "setUpClass" "tearDownClass" "setUpTestData" "asyncSetUp"
    "asyncTearDown" "setUpModule" "tearDownModule" "setup_method" "teardown_method" "setup_class"
    "teardown_class" "setup_module" "teardown_module" "setup_function" "teardown_function"))
((decorated_definition
    (decorator) @_fixture
    definition: (function_definition name: (identifier) @name) @hook.fixture)
  (#match? @_fixture "^@(\\w+\\.)*fixture\\b"))

; Ruby: RSpec, Minitest, Test::Unit, Shoulda, Rails' tests.

((call
    method: (identifier) @runner
    arguments: (argument_list . [(constant) (scope_resolution)] . (string) @name)
    block: (_)) @test.group @only.tests
  (#match? @runner "^([xf]?(describe|context|feature))$"))
((call
    method: (identifier) @runner
    arguments: (argument_list
      . [(string) (constant) (scope_resolution) (simple_symbol)] @name . [(simple_symbol) (pair)]* @mark)
    block: (_)) @test.group @only.tests
  (#match? @runner "^([xf]?(describe|context|feature|example_group)|shared_examples(_for)?|shared_context)$")
 )
((call
    method: (identifier) @runner
    arguments: (argument_list . (string) @name . [(simple_symbol) (pair)]* @mark)
    block: (_)) @test @only.tests
  (#match? @runner "^([xf]?(it|specify|example|scenario)|its|test|should|pending)$")
 )
((call
    method: (identifier) @runner
    arguments: (argument_list . [(simple_symbol) (array)] @mark)
    block: (_)) @test @only.tests
  (#eq? @runner "its"))
((call method: (identifier) @runner !arguments block: (_)) @test @only.tests
  (#match? @runner "^[xf]?(it|specify|example)$"))
((method name: (_) @name) @test @only.tests (#match? @name "^test_\\w+[?!]?$"))
((call !receiver method: (identifier) @_skip) @test.skip
  (#any-of? @_skip "skip" "pending" "omit"))
((body_statement (identifier) @test.skip) (#any-of? @test.skip "skip" "pending" "omit"))

(class) @definition.class
(module) @definition.class
(method) @definition.function
(singleton_method) @definition.function
((call method: (identifier) @_defines arguments: (argument_list . (simple_symbol) @name)
    block: (_)? @body) @definition.function
  (#any-of? @_defines "define_method" "scope" "define_singleton_method"))
((assignment left: (constant) @name right: (_) @_made) @definition.class
  (#match? @_made "^(Struct|Data|Class|Module)\\.(new|define)\\b"))
(assignment left: (constant) @name right: (_) @value) @definition.constant
(comment) @comment

((call !receiver method: (identifier) @_require arguments: (argument_list
    . (string) @module @module.relative)) @import
  (#eq? @_require "require_relative"))
((call !receiver method: (identifier) @_require arguments: (argument_list . (string) @module))
  @import
  (#any-of? @_require "require" "load"))
((call !receiver method: (identifier) @_require arguments: (argument_list . (_) . (string) @module))
  @import
  (#eq? @_require "autoload"))

;;; Inside

(call method: (_) @name) @reference.call
; A bare name is a call if another statement follows it, or by its last letter.
([
  (body_statement (identifier) @name @reference.call . (_))
  (block_body (identifier) @name @reference.call . (_))
  (then (identifier) @name @reference.call . (_))
  (else (identifier) @name @reference.call . (_))])
([
  (_ condition: (identifier) @name @reference.call)
  (binary (identifier) @name @reference.call)
  (unary (identifier) @name @reference.call)
  (body_statement (identifier) @name @reference.call .)
  (then (identifier) @name @reference.call .)]
  (#match? @name "[?!]$"))
((call !receiver
    method: (identifier) @_registers
    arguments: (argument_list (simple_symbol) @name @reference.call))
  (#match? @_registers "^(validate|(skip_)?(before|after|around)_\\w+)$"))
(pair key: (_) @keyword)
(string) @string
(block) @block
(do_block) @block
(lambda) @block

((call method: (identifier) @_raise arguments: (argument_list
    . [(call receiver: (_) @exception) (constant) @exception (scope_resolution) @exception])) @raise
  (#any-of? @_raise "raise" "fail"))
((call method: (identifier) @exception) @raise (#any-of? @exception "raise" "fail" "abort"))

((call !receiver method: (identifier) @value
    arguments: (argument_list (simple_symbol) @member.field @name))
  (#any-of? @value "attr_accessor" "attr_reader" "attr_writer" "attribute" "property" "option"))

((call method: (identifier) @name block: (_)) @hook
  (#match? @name "^(before|after|around|prepend_before|append_after|setup|teardown|(before|after)_(all|each))$"))
((method name: (_) @name) @hook (#any-of? @name "setup" "teardown"))
((call method: (identifier) @_let arguments: (argument_list . (_) @name) block: (_)) @hook.fixture
  (#any-of? @_let "let" "let!" "let_it_be" "subject" "subject!" "given" "given!"))

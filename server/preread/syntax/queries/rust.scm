; Rust. The inside of a macro is only tokens.

((attribute_item) @decorator.test
  (#match? @decorator.test "^#\\[\\s*((\\w+::)*test|rstest|test_case|wasm_bindgen_test|quickcheck|proptest)\\b"))
([
    (source_file [
      (macro_invocation macro: (_) @runner (token_tree . (identifier) @name)) @test
      (expression_statement
        (macro_invocation macro: (_) @runner (token_tree . (identifier) @name)) @test)])
    (declaration_list [
      (macro_invocation macro: (_) @runner (token_tree . (identifier) @name)) @test
      (expression_statement
        (macro_invocation macro: (_) @runner (token_tree . (identifier) @name)) @test)])]
  (#match? @runner "test")
  (#not-eq? @name "name"))
; test! { name: a_name, … }
([
    (source_file [
      (macro_invocation macro: (_) @runner (token_tree . (identifier) @_label . (identifier) @name)) @test
      (expression_statement
        (macro_invocation macro: (_) @runner (token_tree . (identifier) @_label . (identifier) @name)) @test)])
    (declaration_list [
      (macro_invocation macro: (_) @runner (token_tree . (identifier) @_label . (identifier) @name)) @test
      (expression_statement
        (macro_invocation macro: (_) @runner (token_tree . (identifier) @_label . (identifier) @name)) @test)])]
  (#match? @runner "test")
  (#eq? @_label "name"))

(function_item) @definition.function
(function_signature_item) @definition.function
(macro_definition) @definition.function
(struct_item) @definition.class
(union_item) @definition.class
(enum_item) @definition.enum
(trait_item) @definition.interface
(source_file (type_item) @definition.type)
(mod_item body: (declaration_list (type_item) @definition.type))
(const_item name: (_) @name value: (_)? @value) @definition.constant
(static_item name: (_) @name value: (_)? @value) @definition.constant
(impl_item type: (_) @name body: (_)) @scope.type
(mod_item name: (_) @name body: (_)) @scope

(attribute_item) @decorator
(line_comment) @comment
(block_comment) @comment

(use_declaration argument: (scoped_use_list
  path: (_) @module
  list: (use_list [
    (identifier) @imported
    (scoped_identifier) @imported
    (self) @imported
    (use_as_clause path: (_) @imported)
    (use_wildcard) @imported
    (scoped_use_list path: (_) @imported)]))) @import
(use_declaration argument: (scoped_identifier path: (_) @module name: (_) @imported)) @import
(use_declaration argument: (use_as_clause
  path: (scoped_identifier path: (_) @module name: (_) @imported))) @import
(use_declaration argument: (use_wildcard (_) @module "*" @imported)) @import
(use_declaration argument: (identifier) @module) @import
(use_declaration argument: (use_as_clause path: (identifier) @module)) @import

;;; Inside

(call_expression function: (_) @name) @reference.call
(macro_invocation macro: (_) . "!" @name) @reference.call
(string_literal) @string
(raw_string_literal) @string
(closure_expression) @block

((macro_invocation macro: (_) @exception . "!" @exception) @raise
  (#match? @exception "(^|::)(panic|bail|anyhow|ensure|unreachable)$|^!$"))

(enum_item name: (_) @owner body: (enum_variant_list (enum_variant
  name: (_) @name body: (_)? @value value: (_)? @value) @member.enum))
(struct_item body: (field_declaration_list
  (field_declaration name: (_) @name type: (_) @value) @member.field))

; Markup in JavaScript.

;;; Inside

([
    (jsx_opening_element name: (_) @element attribute: (jsx_attribute
      . (_) @name . [(string) @value (jsx_expression . [(string) (template_string)] @value)]) @attribute)
    (jsx_self_closing_element name: (_) @element attribute: (jsx_attribute
      . (_) @name . [(string) @value (jsx_expression . [(string) (template_string)] @value)]) @attribute)])
(jsx_opening_element) @block
(jsx_self_closing_element) @block

import type { Quote } from "../api/types.js";
import { h } from "../h.js";
import { formatCents } from "../money.js";

/** What the order costs, on the checkout page. */
export function Summary({ quote }: { quote: Quote }): HTMLElement {
  return (
    <dl class="summary" data-testid="checkout-summary">
      {quote.discount_cents > 0 && [
        <dt>Discount</dt>,
        <dd data-testid="checkout-discount">{formatCents(-quote.discount_cents)}</dd>,
      ]}
      <dt>Shipping</dt>
      <dd data-testid="checkout-shipping">{quote.shipping_cents === 0 ? "Free" : formatCents(quote.shipping_cents)}</dd>
      <dt>Total</dt>
      <dd data-testid="checkout-total">{formatCents(quote.total_cents)}</dd>
    </dl>
  );
}

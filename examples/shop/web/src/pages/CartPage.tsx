import { api } from "../api/client.js";
import type { CartLine } from "../api/types.js";
import { showError } from "../components/Alert.js";
import { ExpressButton } from "../components/ExpressButton.js";
import { h } from "../h.js";
import { formatCents } from "../money.js";
import { redraw } from "../router.js";

export async function cartPage(): Promise<HTMLElement> {
  const [account, cart] = await Promise.all([api.session(), api.cart()]);
  if (cart.lines.length === 0) {
    return (
      <section>
        <h1>Your cart</h1>
        <p data-testid="cart-empty">Your cart is empty</p>
        <a href="/">Back to the catalog</a>
      </section>
    );
  }
  const slot = <div />;
  const change = async (sku: string, quantity: number) => {
    try {
      await api.setQuantity(sku, quantity);
      await redraw();
    } catch (error) {
      showError(slot, error);
    }
  };
  return (
    <section>
      <h1>Your cart</h1>
      {slot}
      <table aria-label="Cart">
        <tbody>{cart.lines.map((line) => cartRow(line, change))}</tbody>
      </table>
      <p>
        Subtotal <strong data-testid="cart-subtotal">{formatCents(cart.subtotal_cents)}</strong>
      </p>
      <a href="/checkout" data-testid="cart-checkout">
        Go to checkout
      </a>
      {account.saved_card && <ExpressButton slot={slot} />}
    </section>
  );
}

function cartRow(line: CartLine, change: (sku: string, quantity: number) => Promise<void>): HTMLElement {
  const changed = (event: Event) => void change(line.sku, (event.target as HTMLInputElement).valueAsNumber);
  return (
    <tr data-testid={`cart-line-${line.sku}`}>
      <th>{line.title}</th>
      <td>
        <input type="number" min={0} value={line.quantity} aria-label={`Quantity of ${line.title}`} onchange={changed} />
      </td>
      <td>{formatCents(line.total_cents)}</td>
      <td>
        <button type="button" onclick={() => void change(line.sku, 0)}>
          Remove
        </button>
      </td>
    </tr>
  );
}

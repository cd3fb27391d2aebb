import { api } from "../api/client.js";
import { h } from "../h.js";
import { formatCents } from "../money.js";

export async function orderPage({ id = "" }: Record<string, string>): Promise<HTMLElement> {
  const order = await api.order(id);
  return (
    <section>
      <h1>Thank you for your order</h1>
      <p>
        Order <strong data-testid="order-id">{order.id}</strong> is{" "}
        <span data-testid="order-state">{order.state}</span>.
      </p>
      <ul aria-label="Items">
        {order.lines.map((line) => (
          <li>
            {line.quantity} × {line.title}
          </li>
        ))}
      </ul>
      <p>
        Total <strong data-testid="order-total">{formatCents(order.total_cents)}</strong>
      </p>
    </section>
  );
}

import { api } from "../api/client.js";
import { h } from "../h.js";
import { navigate } from "../router.js";
import { showError } from "./Alert.js";

/** Buys the cart with the saved card. `slot` is where a refusal is shown. */
export function ExpressButton({ slot }: { slot: Element }): HTMLElement {
  const key = crypto.randomUUID();
  const buy = async () => {
    try {
      const order = await api.placeExpressOrder(key);
      await navigate(`/orders/${order.id}`);
    } catch (error) {
      showError(slot, error);
    }
  };
  return (
    <button type="button" data-testid="express-submit" onclick={() => void buy()}>
      Buy now
    </button>
  );
}

import { ApiError, api } from "../api/client.js";
import type { Quote } from "../api/types.js";
import { Alert, showError } from "../components/Alert.js";
import { Field } from "../components/Field.js";
import { Summary } from "../components/Summary.js";
import { h } from "../h.js";
import { navigate } from "../router.js";

export async function checkoutPage(): Promise<HTMLElement | null> {
  const [account, cart] = await Promise.all([api.session(), api.cart()]);
  if (account.email === null) {
    await navigate("/login?next=/checkout");
    return null;
  }
  if (cart.lines.length === 0) {
    return <Alert text="There is nothing to pay: your cart is empty." />;
  }
  return checkoutForm(await api.quote(null));
}

function checkoutForm(quote: Quote): HTMLElement {
  const slot = <div />;
  const summary = <div>{<Summary quote={quote} />}</div>;
  let coupon: string | null = null;
  let key = crypto.randomUUID();

  const applyCoupon = async () => {
    const code = (form.elements.namedItem("coupon") as HTMLInputElement).value;
    try {
      const next = await api.quote(code || null);
      coupon = code || null;
      slot.replaceChildren();
      summary.replaceChildren(<Summary quote={next} />);
    } catch (error) {
      showError(slot, error);
    }
  };

  const pay = async (event: SubmitEvent) => {
    event.preventDefault();
    const data = new FormData(form);
    try {
      // Do not disable the button before this line: Safari then drops the form's
      // submit event and nothing is sent at all (#52).
      const payment = { card: String(data.get("card")), coupon, remember: data.has("remember") };
      const request = api.placeOrder(payment, key);
      submit.setAttribute("disabled", "");
      const order = await request;
      await navigate(`/orders/${order.id}`);
    } catch (error) {
      // A refused payment is over, so the next try is a new request. Without an answer
      // the first try may still go through: then the key must stay.
      if (error instanceof ApiError && error.code !== "payment_timeout") {
        key = crypto.randomUUID();
      }
      showError(slot, error);
      submit.removeAttribute("disabled");
    }
  };

  const submit = (
    <button type="submit" data-testid="checkout-submit">
      Pay now
    </button>
  );
  const form = (
    <form data-testid="checkout-form" onsubmit={(event) => void pay(event)}>
      <Field label="Coupon" name="coupon" />
      <button type="button" data-testid="coupon-apply" onclick={() => void applyCoupon()}>
        Apply
      </button>
      {summary}
      <Field label="Card number" name="card" autocomplete="cc-number" inputmode="numeric" required />
      <p>
        <input id="remember" name="remember" type="checkbox" data-testid="checkout-remember" />
        <label for="remember">Remember this card for express checkout</label>
      </p>
      <p>
        <input id="terms" name="terms" type="checkbox" required data-testid="checkout-terms" />
        <label for="terms">I accept the terms of sale</label>
      </p>
      {submit}
    </form>
  ) as HTMLFormElement;
  return (
    <section>
      <h1>Checkout</h1>
      {slot}
      {form}
    </section>
  );
}

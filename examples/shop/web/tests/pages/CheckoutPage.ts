import type { Locator, Page } from "@playwright/test";

export class CheckoutPage {
  readonly heading: Locator;
  readonly card: Locator;
  readonly coupon: Locator;
  readonly terms: Locator;
  readonly submit: Locator;
  readonly discount: Locator;
  readonly total: Locator;
  readonly alert: Locator;

  constructor(private readonly page: Page) {
    this.heading = page.getByRole("heading", { name: "Checkout" });
    this.card = page.getByLabel("Card number");
    this.coupon = page.getByLabel("Coupon");
    this.terms = page.getByLabel("I accept the terms of sale");
    this.submit = page.getByTestId("checkout-submit");
    this.discount = page.getByTestId("checkout-discount");
    this.total = page.getByTestId("checkout-total");
    this.alert = page.getByRole("alert");
  }

  async goto(): Promise<void> {
    await this.page.goto("/checkout");
  }

  async applyCoupon(code: string): Promise<void> {
    const quoted = this.page.waitForResponse("**/api/checkout/quote");
    await this.coupon.fill(code);
    await this.page.getByTestId("coupon-apply").click();
    await quoted;
  }

  /** Fills in the form and sends it; what happens next is the caller's to wait for. */
  async payWith(card: string): Promise<void> {
    await this.card.fill(card);
    await this.terms.check();
    await this.submit.click();
  }
}

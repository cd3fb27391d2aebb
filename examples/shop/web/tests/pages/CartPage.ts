import type { Locator, Page } from "@playwright/test";
import { settle } from "../helpers/wait";

export class CartPage {
  readonly empty: Locator;
  readonly subtotal: Locator;
  readonly alert: Locator;
  readonly toCheckout: Locator;

  constructor(private readonly page: Page) {
    this.empty = page.getByTestId("cart-empty");
    this.subtotal = page.getByTestId("cart-subtotal");
    this.alert = page.getByRole("alert");
    this.toCheckout = page.getByTestId("cart-checkout");
  }

  async goto(): Promise<void> {
    await this.page.goto("/cart");
  }

  line(sku: string): Locator {
    return this.page.getByTestId(`cart-line-${sku}`);
  }

  async setQuantity(sku: string, quantity: number): Promise<void> {
    const saved = this.page.waitForResponse(`**/api/cart/${sku}`);
    const input = this.line(sku).getByRole("spinbutton");
    await input.fill(String(quantity));
    await input.press("Tab");
    await saved;
  }

  async remove(sku: string): Promise<void> {
    await this.line(sku).getByRole("button", { name: "Remove" }).click();
    await settle(this.page);
  }
}

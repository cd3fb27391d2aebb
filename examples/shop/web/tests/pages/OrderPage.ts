import type { Locator, Page } from "@playwright/test";

export class OrderPage {
  readonly heading: Locator;
  readonly state: Locator;
  readonly items: Locator;

  constructor(page: Page) {
    this.heading = page.getByRole("heading", { name: "Thank you for your order" });
    this.state = page.getByTestId("order-state");
    this.items = page.getByRole("list", { name: "Items" }).getByRole("listitem");
  }
}

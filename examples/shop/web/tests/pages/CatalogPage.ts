import type { Locator, Page } from "@playwright/test";

export class CatalogPage {
  readonly search: Locator;
  readonly sort: Locator;
  readonly titles: Locator;
  readonly cartCount: Locator;

  constructor(private readonly page: Page) {
    this.search = page.getByLabel("Search");
    this.sort = page.getByLabel("Sort by");
    this.titles = page.getByRole("listitem").getByRole("heading");
    this.cartCount = page.getByTestId("cart-count");
  }

  async goto(): Promise<void> {
    await this.page.goto("/");
  }

  product(sku: string): Locator {
    return this.page.getByTestId(`product-${sku}`);
  }

  async searchFor(text: string): Promise<void> {
    await this.search.fill(text);
    await this.search.press("Enter");
    await this.page.waitForURL(/[?&]q=/);
  }

  async addToCart(sku: string): Promise<void> {
    await this.product(sku).getByRole("button", { name: "Add to cart" }).click();
  }
}

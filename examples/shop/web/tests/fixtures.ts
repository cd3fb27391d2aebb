import { test as base } from "@playwright/test";
import { CartPage } from "./pages/CartPage";
import { CatalogPage } from "./pages/CatalogPage";
import { CheckoutPage } from "./pages/CheckoutPage";
import { LoginPage } from "./pages/LoginPage";
import { OrderPage } from "./pages/OrderPage";

interface ShopFixtures {
  catalogPage: CatalogPage;
  cartPage: CartPage;
  checkoutPage: CheckoutPage;
  loginPage: LoginPage;
  orderPage: OrderPage;
  /** Replaces the cart through the API: quicker than clicking, and no spec sees another's cart. */
  cartWith: (quantities: Record<string, number>) => Promise<void>;
}

export const test = base.extend<ShopFixtures>({
  catalogPage: async ({ page }, use) => use(new CatalogPage(page)),
  cartPage: async ({ page }, use) => use(new CartPage(page)),
  checkoutPage: async ({ page }, use) => use(new CheckoutPage(page)),
  loginPage: async ({ page }, use) => use(new LoginPage(page)),
  orderPage: async ({ page }, use) => use(new OrderPage(page)),
  cartWith: async ({ page }, use) => {
    await use(async (quantities) => {
      await page.request.delete("/api/cart");
      for (const [sku, quantity] of Object.entries(quantities)) {
        await page.request.put(`/api/cart/${sku}`, { data: { quantity } });
      }
    });
    await page.request.delete("/api/cart");
  },
});

export { expect } from "@playwright/test";

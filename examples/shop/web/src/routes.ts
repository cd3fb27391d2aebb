import { cartPage } from "./pages/CartPage.js";
import { catalogPage } from "./pages/CatalogPage.js";
import { checkoutPage } from "./pages/CheckoutPage.js";
import { loginPage } from "./pages/LoginPage.js";
import { orderPage } from "./pages/OrderPage.js";
import type { Route } from "./router.js";

export const routes: Route[] = [
  { path: /^\/$/, title: "Catalog", page: catalogPage },
  { path: /^\/cart$/, title: "Cart", page: cartPage },
  { path: /^\/checkout$/, title: "Checkout", page: checkoutPage },
  { path: /^\/login$/, title: "Log in", page: loginPage },
  { path: /^\/orders\/(?<id>[\w-]+)$/, title: "Your order", page: orderPage },
];

import { expect, test } from "./fixtures";
import { ADA } from "./helpers/accounts";

// These specs are about logging in, so they start without the stored state.
test.use({ storageState: { cookies: [], origins: [] } });

test.describe("login", () => {
  test("shows who is logged in", async ({ loginPage, page }) => {
    await loginPage.goto();
    await loginPage.login(ADA.email, ADA.password);
    await expect(page.getByTestId("account-email")).toHaveText(ADA.email);
  });

  test("wrong password keeps the shopper on the page", async ({ loginPage, page }) => {
    await loginPage.goto();
    await loginPage.login(ADA.email, "wrong");
    await expect(loginPage.alert).toHaveText("wrong e-mail or password");
    await expect(page).toHaveURL(/\/login$/);
  });

  test("does not follow a link to another site", async ({ loginPage, page }) => {
    await loginPage.goto("//elsewhere.example");
    await loginPage.login(ADA.email, ADA.password);
    await page.waitForURL("/");
  });

  test("guest cart survives the login", async ({ catalogPage, loginPage }) => {
    await catalogPage.goto();
    await catalogPage.addToCart("mug-blue");
    await expect(catalogPage.cartCount).toHaveText("1");
    await loginPage.goto();
    await loginPage.login(ADA.email, ADA.password);
    await expect(catalogPage.cartCount).toHaveText("1");
  });
});

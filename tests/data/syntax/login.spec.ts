import { test as base, expect } from "@playwright/test";
import { LoginPage } from "./pages/login";

const test = base.extend<{ loginPage: LoginPage }>({
  loginPage: async ({ page }, use) => {
    await use(new LoginPage(page));
  },
});

test.describe("Login", () => {
  test.beforeEach(async ({ page }) => {
    await page.goto("/login");
  });

  test("shows the form", async ({ page, loginPage }) => {
    await loginPage.fill("ann", { remember: true });
    await expect(page.getByTestId("login-submit")).toBeVisible({ timeout: 500 });
  });

  test.describe.serial("locked out", () => {
    test.skip("after three tries", async ({ page }) => {
      await page.click("text=Sign in");
    });

    for (const name of ["ann", "bob"]) {
      test(`greets ${name}`, async () => {
        test.fixme(true, "flaky");
      });
    }
  });
});

describe.skip("units", () => {
  it.each([1, 2])("adds %i", (n) => {
    expect(n).toBeGreaterThan(0);
  });
  it.todo("subtracts");
});

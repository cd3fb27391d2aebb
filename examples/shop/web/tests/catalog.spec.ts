import { expect, test } from "./fixtures";

test.describe("catalog", () => {
  test.beforeEach(async ({ catalogPage, cartWith }) => {
    await cartWith({});
    await catalogPage.goto();
  });

  test("search narrows the list", async ({ catalogPage }) => {
    await catalogPage.searchFor("mug");
    await expect(catalogPage.titles).toHaveText(["Blue mug", "Red mug"]);
  });

  test("search without a match says so", async ({ catalogPage, page }) => {
    await catalogPage.searchFor("sofa");
    await expect(page.getByText("No products found")).toBeVisible();
  });

  test("sort by price", async ({ catalogPage }) => {
    await catalogPage.sort.selectOption("Price, lowest first");
    await expect(catalogPage.titles.first()).toHaveText("Set of pens");
  });

  test("add to cart counts up", async ({ catalogPage }) => {
    await catalogPage.addToCart("mug-blue");
    await expect(catalogPage.cartCount).toHaveText("1");
    await catalogPage.addToCart("mug-blue");
    await expect(catalogPage.cartCount).toHaveText("2");
  });
});

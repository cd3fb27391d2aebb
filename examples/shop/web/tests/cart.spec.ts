import { expect, test } from "./fixtures";

test.describe("cart", () => {
  test("changing a quantity changes the subtotal", async ({ cartPage, cartWith }) => {
    await cartWith({ "mug-blue": 1 });
    await cartPage.goto();
    await cartPage.setQuantity("mug-blue", 3);
    await expect(cartPage.subtotal).toHaveText("€38.70");
  });

  test("removing the last line empties the cart", async ({ cartPage, cartWith }) => {
    await cartWith({ "mug-blue": 1 });
    await cartPage.goto();
    await cartPage.remove("mug-blue");
    await expect(cartPage.empty).toBeVisible();
  });

  test("too many of one product is refused", async ({ cartPage, cartWith }) => {
    await cartWith({ "pen-set": 20 });
    await cartPage.goto();
    await cartPage.setQuantity("pen-set", 21);
    await expect(cartPage.alert).toHaveText("at most 20 of 'Set of pens' in one order");
  });

  test("leads to checkout", async ({ cartPage, cartWith, checkoutPage }) => {
    await cartWith({ "mug-blue": 1 });
    await cartPage.goto();
    await cartPage.toCheckout.click();
    await expect(checkoutPage.heading).toBeVisible();
  });
});

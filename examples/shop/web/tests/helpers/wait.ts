import type { Page } from "@playwright/test";

/**
 * Waits until the page has stopped talking to the server, and half a second more.
 *
 * @deprecated Flaky on CI (#58). Start `page.waitForResponse` before the click and await it after, as
 * `CartPage.setQuantity` does, or wait for the new address with `page.waitForURL`.
 */
export async function settle(page: Page): Promise<void> {
  await page.waitForLoadState("networkidle");
  await page.waitForTimeout(500);
}

import type { Page } from "@playwright/test";

/** Waits until the page has stopped talking to the server. */
export async function settle(page: Page): Promise<void> {
  await page.waitForLoadState("networkidle");
  await page.waitForTimeout(500);
}

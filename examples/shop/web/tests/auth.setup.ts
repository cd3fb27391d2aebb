import { expect, test as setup } from "@playwright/test";
import { ADA, AUTH_FILE } from "./helpers/accounts";

setup("log in once for all specs", async ({ request }) => {
  const response = await request.post("/api/login", { data: ADA });
  expect(response.ok()).toBe(true);
  await request.storageState({ path: AUTH_FILE });
});

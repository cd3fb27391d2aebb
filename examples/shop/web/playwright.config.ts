import { defineConfig, devices } from "@playwright/test";
import { AUTH_FILE } from "./tests/helpers/accounts";

export default defineConfig({
  testDir: "./tests",
  // One account means one cart, so specs must not run side by side (#44).
  workers: 1,
  retries: process.env.CI ? 1 : 0,
  timeout: 20_000,
  expect: { timeout: 4_000 },
  reporter: [["list"], ["junit", { outputFile: "test-results/junit.xml" }]],
  use: {
    baseURL: "http://127.0.0.1:4173",
    trace: "on-first-retry",
  },
  projects: [
    { name: "setup", testMatch: /.*\.setup\.ts/ },
    {
      name: "chromium",
      use: { ...devices["Desktop Chrome"], storageState: AUTH_FILE },
      dependencies: ["setup"],
    },
  ],
  webServer: {
    command: "npm run build && cd ../api && python -m shop --web ../web",
    url: "http://127.0.0.1:4173/api/session",
    reuseExistingServer: !process.env.CI,
  },
});

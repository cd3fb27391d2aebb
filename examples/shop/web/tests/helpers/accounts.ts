/** Accounts that the API starts with, and where the logged-in state is kept. */
export const AUTH_FILE = "playwright/.auth/ada.json";

export const ADA = { email: "ada@example.test", password: "correct horse" };

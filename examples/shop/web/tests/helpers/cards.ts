/** Card numbers that the fake gateway knows; see `CARDS` in api/shop/payment.py. */
export const CARDS = {
  good: "4242 4242 4242 4242",
  declined: "4000 0000 0000 0002",
  slow: "4000 0000 0000 0259",
} as const;

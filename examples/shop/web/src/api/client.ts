import type { Account, Cart, Login, Order, Payment, ProductList, Quote } from "./types.js";

export class ApiError extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly status: number,
  ) {
    super(message);
    this.name = "ApiError";
  }
}

interface CallOptions {
  body?: unknown;
  headers?: Record<string, string>;
}

async function call<T>(method: string, path: string, { body, headers }: CallOptions = {}): Promise<T> {
  const response = await fetch(`/api${path}`, {
    method,
    headers: { "Content-Type": "application/json", ...headers },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const reply = await response.json();
  if (!response.ok) {
    throw new ApiError(reply.error.code, reply.error.message, response.status);
  }
  return reply as T;
}

export const api = {
  products: (query: URLSearchParams) => call<ProductList>("GET", `/products?${query}`),
  session: () => call<Account>("GET", "/session"),
  login: (email: string, password: string) => call<Login>("POST", "/login", { body: { email, password } }),
  logout: () => call<Login>("POST", "/logout", { body: {} }),
  cart: () => call<Cart>("GET", "/cart"),
  setQuantity: (sku: string, quantity: number) => call<Cart>("PUT", `/cart/${sku}`, { body: { quantity } }),
  quote: (coupon: string | null) => call<Quote>("POST", "/checkout/quote", { body: { coupon } }),
  placeOrder: (payment: Payment, key: string) =>
    call<Order>("POST", "/checkout", { body: payment, headers: { "Idempotency-Key": key } }),
  placeExpressOrder: (key: string) =>
    call<Order>("POST", "/checkout/express", { body: {}, headers: { "Idempotency-Key": key } }),
  order: (id: string) => call<Order>("GET", `/orders/${id}`),
};

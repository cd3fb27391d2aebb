export interface Product {
  sku: string;
  title: string;
  price_cents: number;
  category: string;
  available: number;
}

export interface ProductList {
  products: Product[];
  categories: string[];
}

export interface CartLine {
  sku: string;
  title: string;
  quantity: number;
  total_cents: number;
}

export interface Cart {
  lines: CartLine[];
  subtotal_cents: number;
}

export interface Quote {
  discount_cents: number;
  shipping_cents: number;
  total_cents: number;
}

export type OrderState =
  | "pending"
  | "paid"
  | "declined"
  | "payment_unknown"
  | "shipped"
  | "cancelled"
  | "refunded";

export interface Order {
  id: string;
  state: OrderState;
  lines: { title: string; quantity: number }[];
  discount_cents: number;
  shipping_cents: number;
  total_cents: number;
}

export interface Payment {
  card: string;
  coupon: string | null;
  remember: boolean;
}

export type Login = Pick<Account, "email">;

export interface Account {
  email: string | null;
  saved_card: boolean;
}

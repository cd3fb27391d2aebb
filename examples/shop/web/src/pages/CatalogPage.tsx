import { api } from "../api/client.js";
import type { Product } from "../api/types.js";
import { showError } from "../components/Alert.js";
import { h } from "../h.js";
import { formatCents } from "../money.js";
import { navigate, redraw } from "../router.js";

const SORTS = [
  ["title", "Name"],
  ["price", "Price, lowest first"],
  ["price-desc", "Price, highest first"],
] as const;

export async function catalogPage(): Promise<HTMLElement> {
  const query = new URLSearchParams(location.search);
  const { products, categories } = await api.products(query);
  const filter = (event: Event) => {
    const form = (event.target as HTMLInputElement).form!;
    const chosen = [...new FormData(form)].filter(([, value]) => value !== "") as [string, string][];
    void navigate(`/?${new URLSearchParams(chosen)}`);
  };
  return (
    <section>
      <h1>Catalog</h1>
      <form role="search" onsubmit={(event) => event.preventDefault()}>
        <label for="q">Search</label>
        <input id="q" name="q" type="search" value={query.get("q") ?? ""} onchange={filter} />
        <label for="category">Category</label>
        <select id="category" name="category" onchange={filter}>
          <option value="">All</option>
          {categories.map((name) => (
            <option value={name} selected={name === query.get("category")}>
              {name}
            </option>
          ))}
        </select>
        <label for="sort">Sort by</label>
        <select id="sort" name="sort" onchange={filter}>
          {SORTS.map(([value, text]) => (
            <option value={value} selected={value === query.get("sort")}>
              {text}
            </option>
          ))}
        </select>
      </form>
      {products.length === 0 ? <p>No products found</p> : <ul>{products.map(productItem)}</ul>}
    </section>
  );
}

function productItem(product: Product): HTMLElement {
  const slot = <div />;
  const add = async () => {
    try {
      const cart = await api.cart();
      const line = cart.lines.find((one) => one.sku === product.sku);
      await api.setQuantity(product.sku, (line?.quantity ?? 0) + 1);
      await redraw();
    } catch (error) {
      showError(slot, error);
    }
  };
  return (
    <li data-testid={`product-${product.sku}`}>
      <h2>{product.title}</h2>
      <span class="price">{formatCents(product.price_cents)}</span>
      <button type="button" disabled={product.available === 0} onclick={() => void add()}>
        {product.available === 0 ? "Sold out" : "Add to cart"}
      </button>
      {slot}
    </li>
  );
}

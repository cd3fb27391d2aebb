import { api } from "../api/client.js";
import { h } from "../h.js";
import { navigate } from "../router.js";

interface HeaderProps {
  email: string | null;
  count: number;
}

export function Header({ email, count }: HeaderProps): HTMLElement {
  const logout = async () => {
    await api.logout();
    await navigate("/");
  };
  return (
    <nav aria-label="Main">
      <a href="/">Shop</a>
      <a href="/cart" data-testid="cart-link">
        Cart (<span data-testid="cart-count">{count}</span>)
      </a>
      {email === null ? (
        <a href="/login">Log in</a>
      ) : (
        <span>
          <span data-testid="account-email">{email}</span>
          <button type="button" onclick={() => void logout()}>
            Log out
          </button>
        </span>
      )}
    </nav>
  );
}

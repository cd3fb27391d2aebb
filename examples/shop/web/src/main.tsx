import { api } from "./api/client.js";
import { Header } from "./components/Header.js";
import { h } from "./h.js";
import { start } from "./router.js";
import { routes } from "./routes.js";

const header = document.getElementById("header")!;

async function drawHeader(): Promise<void> {
  const [account, cart] = await Promise.all([api.session(), api.cart()]);
  const count = cart.lines.reduce((sum, line) => sum + line.quantity, 0);
  header.replaceChildren(<Header email={account.email} count={count} />);
}

void start(routes, document.getElementById("page")!, drawHeader);

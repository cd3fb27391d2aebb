import { api } from "../api/client.js";
import { showError } from "../components/Alert.js";
import { Field } from "../components/Field.js";
import { h } from "../h.js";
import { navigate } from "../router.js";

export async function loginPage(): Promise<HTMLElement> {
  const slot = <div />;
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const data = new FormData(event.target as HTMLFormElement);
    try {
      await api.login(String(data.get("email")), String(data.get("password")));
      await navigate(nextPath());
    } catch (error) {
      showError(slot, error);
    }
  };
  return (
    <section>
      <h1>Log in</h1>
      {slot}
      <form onsubmit={(event) => void submit(event)}>
        <Field label="E-mail" name="email" type="email" autocomplete="username" required />
        <Field label="Password" name="password" type="password" autocomplete="current-password" required />
        <button type="submit" data-testid="login-submit">
          Log in
        </button>
      </form>
    </section>
  );
}

/** Only paths of this shop: `?next=//elsewhere.example` must not lead away. */
function nextPath(): string {
  const next = new URLSearchParams(location.search).get("next") ?? "/";
  return /^\/(?!\/)/.test(next) ? next : "/";
}

import { ApiError } from "../api/client.js";
import { h } from "../h.js";

export function Alert({ text }: { text: string }): HTMLElement {
  return (
    <p role="alert" class="alert" data-testid="alert">
      {text}
    </p>
  );
}

/** Shows the API's own words for an expected failure, and nothing technical for the rest. */
export function showError(slot: Element, error: unknown): void {
  const text = error instanceof ApiError ? error.message : "Something went wrong. Please try again.";
  slot.replaceChildren(<Alert text={text} />);
}
